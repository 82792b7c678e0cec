// The dialog that sends an event to a flow.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'
import type { RunDetail } from '../../api/contract.ts'
import { call } from '../api/client.ts'
import { changes } from '../api/listen.ts'
import { useAction } from '../api/resource.ts'
import { signed } from '../api/studio-session.ts'
import { TextField, ValueField } from '../form/value-field.tsx'
import { Dialog, DialogEnd } from '../parts/dialog.tsx'
import { notify } from '../parts/notices.tsx'

interface SendProps {
  readonly detail: RunDetail
  onClose(): void
}

export function SendDialog({ detail, onClose }: SendProps): JSX.Element {
  const awaited = [...new Set(detail.steps?.waits.items.flatMap(({ event }) => event ?? []))]
  const [name, setName] = useState(awaited[0] ?? '')
  const [value, setValue] = useState<Json | undefined>(undefined)
  const [id, setId] = useState('')
  const { busy, problem, attempt } = useAction()
  const send = (): Promise<void> =>
    attempt(async () => {
      const body = {
        name: name.trim(),
        value: value ?? null,
        ...(id.trim() === '' ? {} : { id: id.trim() }),
        ...signed(),
      }
      await call('POST /runs/{run}/events', { params: { run: detail.runId }, body })
      notify(`Event ${name.trim()} sent.`)
      changes.value++
      onClose()
    })
  return (
    <Dialog title="Send an event" onClose={onClose}>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          if (!busy && name.trim() !== '') void send()
        }}
      >
        <p class="soft">
          {awaited.length === 0
            ? 'The flow waits for no event now. It keeps the event until a step asks for it.'
            : `The flow waits for ${awaited.join(', ')}.`}
        </p>
        <TextField label="Name" value={name} onInput={setName} />
        <ValueField
          shape={{ type: 'json' }}
          label="Value"
          description="A text is written in quotes. Empty: null."
          value={value}
          onChange={setValue}
        />
        <TextField
          label="Id"
          hint="optional; of several events with this id, the first counts"
          value={id}
          onInput={setId}
        />
        <DialogEnd problem={problem} onClose={onClose}>
          <button type="submit" class="primary" disabled={busy || name.trim() === ''}>
            Send
          </button>
        </DialogEnd>
      </form>
    </Dialog>
  )
}
