// The questions of a run, answered on its own page.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { QuestionView, RunDetail } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { heldAnswers, isHeld } from '../waiting/held-answers.ts'
import { QuestionDetail } from '../waiting/question-detail.tsx'
import { questionKey } from '../waiting/question-path.ts'

export function RunQuestions({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const [open, setOpen] = useState(false)
  const given = heldAnswers.value.filter(({ question }) => isAskedBy(question, detail.runId)).length
  const count = Math.max(0, detail.questions.length - given)
  const words = count === 1 ? '1 question waits' : `${count} questions wait`
  if (count === 0)
    return (
      <section class="run-questions" aria-label="Open questions">
        <div class="asks-bar">Every question has its answer, which is sent in a moment.</div>
      </section>
    )
  return (
    <section class="run-questions" aria-label="Open questions">
      <div class="asks-bar">
        <span>{words} for a person.</span>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Close' : 'Answer here'}
        </button>
      </div>
      {open && <Questions detail={detail} />}
    </section>
  )
}

function Questions({ detail }: { readonly detail: RunDetail }): JSX.Element | null {
  const { runId, caller } = detail
  // what it asks that works for another run is asked by that one, which may be of any crew
  const query = caller === undefined ? { crew: detail.crew } : {}
  const { value } = useResource(`questions of ${runId}`, (signal) => call('GET /questions', { query, signal }))
  const question = value?.questions.find((each) => isAskedBy(each, runId) && !isHeld(each))
  return question ? <QuestionDetail key={questionKey(question)} question={question} onAnswered={() => {}} /> : null
}

function isAskedBy({ asking }: Pick<QuestionView, 'asking'>, runId: string): boolean {
  return asking.some((each) => each.runId === runId)
}
