// Runs that were answered here and are left to a worker, said until somebody continues them. Where the code is at hand,
// this studio can do it instead.
import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { changes } from '../api/changes.ts'
import { ApiError, call } from '../api/client.ts'
import { useResource } from '../api/resource.ts'
import { Icon } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'
import { Link } from '../routing/link.tsx'
import { navigate, runPath } from '../routing/router.ts'
import { shortId } from './short-id.ts'

const left = signal<readonly string[]>([])

/** Those of the last answers are enough: all others are in the list of runs. */
export function leaveToWorker(runId: string): void {
  left.value = [
    ...left
      .peek()
      .filter((each) => each !== runId)
      .slice(-2),
    runId,
  ]
}

export function LeftToWorkers(): JSX.Element {
  return (
    <>
      {left.value.map((runId) => (
        <LeftRun key={runId} runId={runId} />
      ))}
    </>
  )
}

function LeftRun({ runId }: { readonly runId: string }): JSX.Element {
  const [busy, setBusy] = useState(false)
  const { value: detail, error } = useResource(`left ${runId}`, (stop) =>
    call('GET /runs/{run}', { params: { run: runId }, signal: stop }),
  )
  const dismiss = (): void => {
    left.value = left.peek().filter((each) => each !== runId)
  }
  const gone = error instanceof ApiError && error.status === 404
  const over = gone || (detail !== undefined && detail.status !== 'queued')
  useEffect(() => {
    if (!over) return
    dismiss()
    if (!gone) notify('Answered, and the run is continued.')
  }, [over])

  const proceed = async (): Promise<void> => {
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
      // somebody was first: that is what was wanted
      if (problem instanceof ApiError && problem.code === 'RUN_HELD') dismiss()
      else notify(errorText(problem), { bad: true })
      // the page of the run has what decides
      if (problem instanceof ApiError && problem.code === 'TASKS_CHANGED') {
        dismiss()
        navigate(runPath(runId))
      }
      setBusy(false)
    }
    changes.value++
  }
  return (
    <div class="notice left-run">
      <p>
        Answered. A worker will continue it: <Link to={runPath(runId)}>{shortId(runId)}</Link>
      </p>
      {detail?.can.includes('resume') && (
        <button type="button" disabled={busy} onClick={() => void proceed()}>
          <Icon name="play" size={15} />
          Continue here
        </button>
      )}
      <button type="button" class="icon-button" aria-label="Dismiss" onClick={dismiss}>
        <Icon name="close" size={15} />
      </button>
    </div>
  )
}
