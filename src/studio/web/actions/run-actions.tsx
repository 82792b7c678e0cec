// The buttons on a run's page for the actions that the server would accept.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { RunAction, RunDetail } from '../../api/contract.ts'
import { changes } from '../api/listen.ts'
import { call } from '../api/client.ts'
import { useAction } from '../api/resource.ts'
import { signed } from '../api/studio-session.ts'
import { useShortcuts } from '../keys/shortcuts.ts'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { Icon } from '../parts/icons.tsx'
import { notify } from '../parts/notices.tsx'
import { errorText } from '../parts/states.tsx'
import { navigate, currentLocation, withQuery } from '../routing/router.tsx'
import type { LiveRun } from '../run/live-run.ts'
import { SendDialog } from './send-dialog.tsx'
import { RunActionDialog, type DialogAction } from './run-action-dialog.tsx'

const runActions: readonly DialogAction[] = ['resume', 'replay', 'fork', 'refresh']

export function RunActions({ run, detail }: { readonly run: LiveRun; readonly detail: RunDetail }): JSX.Element {
  const { can, runId } = detail
  const [cancelling, setCancelling] = useState(false)
  const [sending, setSending] = useState(false)
  const named = currentLocation.value.query.get('action')
  const action = runActions.find((each) => each === named && can.includes(each))
  const open = (what: DialogAction): void => navigate(withQuery({ action: what }))
  const close = (): void =>
    navigate(withQuery({ action: undefined, from: undefined, edit: undefined }), { replace: true })

  const requeue = async (): Promise<void> => {
    try {
      await call('POST /runs/{run}/resume', { params: { run: runId }, body: { how: 'queue', ...signed() } })
      notify('Run queued for a worker.')
      changes.value++
    } catch (error) {
      notify(errorText(error), { bad: true })
    }
  }
  const actions = [
    { name: 'resume', keys: 'r', words: 'Resume', icon: 'play', run: () => open('resume') },
    { name: 'requeue', keys: 'r', words: 'Requeue', icon: 'play', run: () => void requeue() },
    { name: 'send', keys: 's', words: 'Send event', icon: 'hand', run: () => setSending(true) },
    { name: 'replay', keys: 'p', words: 'Replay', icon: 'repeat', run: () => open('replay') },
    { name: 'fork', keys: 'f', words: 'Fork', icon: 'fork', run: () => open('fork') },
    { name: 'refresh', keys: 'u', words: 'Refresh', icon: 'check', run: () => open('refresh') },
    { name: 'cancel', keys: 'X', words: 'Cancel', icon: 'stop', run: () => setCancelling(true) },
  ] as const
  const offered = actions.filter(
    ({ name }) =>
      can.includes(name) &&
      // the transcript of a conversation has a box for it
      !(name === 'send' && detail.chat) &&
      !(name === 'requeue' && can.includes('resume')) &&
      !(name === 'refresh' && detail.stale.length === 0),
  )
  useShortcuts(
    'Actions',
    offered.map(({ keys, words, run: start }) => ({ keys, does: words, run: start })),
  )
  return (
    <div class="acts">
      {offered.map(({ name, words, icon, run: start, keys }) => (
        <button key={name} type="button" class={buttonClass(name, detail)} title={`${words} (${keys})`} onClick={start}>
          <Icon name={icon} size={15} />
          {words}
        </button>
      ))}
      {action && <RunActionDialog key={action} action={action} detail={detail} onClose={close} refresh={run.refresh} />}
      {sending && <SendDialog detail={detail} onClose={() => setSending(false)} />}
      {cancelling && <CancelDialog detail={detail} onClose={() => setCancelling(false)} />}
    </div>
  )
}

/** A waiting run needs an answer first, so its resume isn't the primary action. */
function buttonClass(action: RunAction, { status }: RunDetail): string {
  if (action === 'cancel') return 'danger'
  return (action === 'resume' || action === 'requeue') && status !== 'waiting' ? 'primary' : ''
}

function CancelDialog({ detail, onClose }: { readonly detail: RunDetail; onClose(): void }): JSX.Element {
  const { runId } = detail
  const { problem, attempt } = useAction()
  const cancel = (): Promise<void> =>
    attempt(async () => {
      await call('POST /runs/{run}/cancel', { params: { run: runId }, body: signed() })
      notify('Run cancelled.')
      changes.value++
      onClose()
    })
  return (
    <Dialog title="Cancel this run?" onClose={onClose}>
      <p>
        The run ends for good, wherever it is executed. Its finished work stays, and it can still be replayed or forked.
      </p>
      <DialogEnd problem={problem} close="Keep the run" onClose={onClose}>
        <button type="button" class="danger" onClick={() => void cancel()}>
          Cancel the run
        </button>
      </DialogEnd>
    </Dialog>
  )
}
