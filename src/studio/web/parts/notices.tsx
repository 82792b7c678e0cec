// Short-lived notices in the corner of the page, announced to screen readers.
import { signal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'

interface Notice {
  readonly id: number
  readonly text: string
  readonly bad: boolean
}

const notices = signal<readonly Notice[]>([])
let newest = 0

export function notify(text: string, { bad = false }: { readonly bad?: boolean } = {}): void {
  const id = ++newest
  notices.value = [...notices.peek().slice(-2), { id, text, bad }]
  setTimeout(() => dismiss(id), bad ? 12_000 : 5_000)
}

function dismiss(id: number): void {
  notices.value = notices.peek().filter((notice) => notice.id !== id)
}

/** `children`: other notices, which disappear by their own rules. */
export function Notices({ children }: { readonly children?: ComponentChildren }): JSX.Element {
  return (
    <div class="notices" role="status" aria-live="polite">
      {notices.value.map(({ id, text, bad }) => (
        <button key={id} type="button" class={bad ? 'notice is-bad' : 'notice'} onClick={() => dismiss(id)}>
          {text}
        </button>
      ))}
      {children}
    </div>
  )
}
