// The answers that can still be taken back, each with its Undo.
import type { JSX } from 'preact'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Link } from '../routing/link.tsx'
import { runPath } from '../routing/router.ts'
import { heldAnswers, sendAnswer, undoAnswer, undoMs } from './held-answers.ts'
import { questionKey } from './question-path.ts'
import { shortId } from './short-id.ts'

export function HeldList(): JSX.Element {
  const held = heldAnswers.value.filter(({ sent }) => !sent)
  const last = held.at(-1)
  useShortcuts(
    'Answers',
    [{ keys: 'z', does: 'Undo the last answer', run: () => last && undoAnswer(questionKey(last.question)) }],
    last !== undefined,
  )
  return (
    <>
      {held.map(({ question, words }) => (
        <div key={questionKey(question)} class="notice left-run held">
          <p>
            {words}: {question.task} of <Link to={runPath(question.runId)}>{shortId(question.runId)}</Link>
            <span class="hint">Sent in a few seconds, or at once when you leave this page.</span>
          </p>
          <button type="button" onClick={() => undoAnswer(questionKey(question))}>
            Undo
          </button>
          <button type="button" class="quiet" onClick={() => sendAnswer(questionKey(question))}>
            Send now
          </button>
          <span class="held-time" style={{ 'animation-duration': `${undoMs}ms` }} aria-hidden="true" />
        </div>
      ))}
    </>
  )
}
