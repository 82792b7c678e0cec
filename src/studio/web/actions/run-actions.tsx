// What can be done with a run from its page: only what the server would take is offered.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { RunAction, RunDetail } from '../../api/contract.ts'
import { changes } from '../api/changes.ts'
import { call } from '../api/client.ts'
import { signature } from '../api/studio-session.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'
import { navigate, currentLocation, withQuery } from '../routing/router.ts'
import type { LiveRun } from '../run/live-run.ts'
import { RunActionDialog, type DialogAction } from './run-action-dialog.tsx'

const runActions: readonly DialogAction[] = ['resume', 'replay', 'fork', 'refresh']

export function RunActions({ run, detail }: { readonly run: LiveRun; readonly detail: RunDetail }): JSX.Element {
  const { can, runId } = detail
  const [cancelling, setCancelling] = useState(false)
  const named = currentLocation.value.query.get('take')
  const take = runActions.find((each) => each === named && can.includes(each))
  const open = (what: DialogAction): void => navigate(withQuery({ take: what }))
  const close = (): void =>
    navigate(withQuery({ take: undefined, from: undefined, edit: undefined }), { replace: true })

  const requeue = async (): Promise<void> => {
    const by = signature.peek()
    try {
      await call('POST /runs/{run}/resume', {
        params: { run: runId },
        body: { how: 'queue', ...(by === '' ? {} : { by }) },
      })
      notify('A worker continues the run.')
      changes.value++
    } catch (error) {
      notify(errorText(error), { bad: true })
    }
  }
  const acts = [
    { act: 'resume', keys: 'r', words: 'Resume', icon: 'play', run: () => open('resume') },
    { act: 'requeue', keys: 'r', words: 'Resume by a worker', icon: 'play', run: () => void requeue() },
    { act: 'replay', keys: 'p', words: 'Replay', icon: 'repeat', run: () => open('replay') },
    { act: 'fork', keys: 'f', words: 'Fork', icon: 'fork', run: () => open('fork') },
    { act: 'refresh', keys: 'u', words: 'Refresh', icon: 'check', run: () => open('refresh') },
    { act: 'cancel', keys: 'X', words: 'Cancel', icon: 'stop', run: () => setCancelling(true) },
  ] as const
  const offered = acts.filter(
    ({ act }) =>
      can.includes(act) &&
      !(act === 'requeue' && can.includes('resume')) &&
      !(act === 'refresh' && detail.stale.length === 0),
  )
  useShortcuts(
    'What to do with it',
    offered.map(({ keys, words, run: act }) => ({ keys, does: words, run: act })),
  )
  return (
    <div class="acts">
      {offered.map(({ act, words, icon, run: start, keys }) => (
        <button key={act} type="button" class={buttonClass(act, detail)} title={`${words} (${keys})`} onClick={start}>
          <Icon name={icon} size={15} />
          {words}
        </button>
      ))}
      {take && <RunActionDialog key={take} take={take} detail={detail} onClose={close} refresh={run.refresh} />}
      {cancelling && <CancelDialog detail={detail} onClose={() => setCancelling(false)} />}
    </div>
  )
}

/** A run that waits is helped by an answer, not by a resume. */
function buttonClass(act: RunAction, { status }: RunDetail): string {
  if (act === 'cancel') return 'danger'
  return (act === 'resume' || act === 'requeue') && status !== 'waiting' ? 'primary' : ''
}

function CancelDialog({ detail, onClose }: { readonly detail: RunDetail; onClose(): void }): JSX.Element {
  const { runId } = detail
  const [problem, setProblem] = useState('')
  const cancel = async (): Promise<void> => {
    const by = signature.peek()
    try {
      await call('POST /runs/{run}/cancel', { params: { run: runId }, body: by === '' ? {} : { by } })
      notify('The run is cancelled.')
      changes.value++
      onClose()
    } catch (error) {
      setProblem(errorText(error))
    }
  }
  return (
    <Dialog title="Cancel this run?" onClose={onClose}>
      <p>It ends for good, wherever it is executed. What it has done stays, and a fork can still be made from it.</p>
      {problem !== '' && <p class="problem">{problem}</p>}
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          Leave it
        </button>
        <button type="button" class="danger" onClick={() => void cancel()}>
          Cancel the run
        </button>
      </div>
    </Dialog>
  )
}
