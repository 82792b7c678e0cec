// Notices of held answers, which can be undone, and of answered runs that wait for a worker.
import type { JSX } from 'preact'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Link, runPath, questionKey, shortId, navigate } from '../routing/router.tsx'
import { answeredRuns, dismissRun, heldAnswers, sendAnswer, undoAnswer, undoMs } from './held-answers.ts'
import { useEffect, useState } from 'preact/hooks'
import { changes } from '../api/listen.ts'
import { ApiError, call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Icon, IconButton } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'

export function HeldAnswers(): JSX.Element {
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
        <div key={questionKey(question)} class="notice answered-run held">
          <p>
            {words}: {question.task} of <Link to={runPath(question.runId)}>{shortId(question.runId)}</Link>
            <span class="hint">Sent in a few seconds, or when you leave the page.</span>
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

export function AnsweredRuns(): JSX.Element {
  return (
    <>
      {answeredRuns.value.map((runId) => (
        <AnsweredRun key={runId} runId={runId} />
      ))}
    </>
  )
}

/** An answered run that waits for a worker, or for the user to continue it here. The notice stays until then. */
function AnsweredRun({ runId }: { readonly runId: string }): JSX.Element {
  const [busy, setBusy] = useState(false)
  const { value: detail, error } = useResource(`answered ${runId}`, (stop) =>
    call('GET /runs/{run}', { params: { run: runId }, signal: stop }),
  )
  const dismiss = (): void => dismissRun(runId)
  const isDeleted = error instanceof ApiError && error.status === 404
  const isOver = isDeleted || (detail !== undefined && detail.status !== 'queued')
  useEffect(() => {
    if (!isOver) return
    dismiss()
    if (!isDeleted) notify('The run continues.')
  }, [isOver])

  const continueHere = async (): Promise<void> => {
    setBusy(true)
    const { through } = detail ?? {}
    try {
      await call('POST /runs/{run}/resume', {
        params: { run: runId },
        body: { how: 'here', ...(through === undefined ? {} : { through }) },
      })
      notify('The run continues here.')
      dismiss()
    } catch (problem) {
      // another process was faster
      if (problem instanceof ApiError && problem.code === 'RUN_HELD') dismiss()
      else notify(errorText(problem), { bad: true })
      // the run's page shows what to decide
      if (problem instanceof ApiError && problem.code === 'TASKS_CHANGED') {
        dismiss()
        navigate(runPath(runId))
      }
      setBusy(false)
    }
    changes.value++
  }
  return (
    <div class="notice answered-run">
      <p>
        Answered. Waiting for a worker: <Link to={runPath(runId)}>{shortId(runId)}</Link>
      </p>
      {detail?.can.includes('resume') && (
        <button type="button" disabled={busy} onClick={() => void continueHere()}>
          <Icon name="play" size={15} />
          Continue here
        </button>
      )}
      <IconButton label="Dismiss" icon="close" size={15} onClick={dismiss} />
    </div>
  )
}
