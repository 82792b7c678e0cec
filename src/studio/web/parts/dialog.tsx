// A modal dialog. The browser's own <dialog> traps the focus, and Escape closes it. Afterwards, the focus is restored.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { IconButton } from './icons.tsx'
import { Problem } from './states.tsx'

interface DialogProps {
  readonly title: string
  readonly children: ComponentChildren
  readonly wide?: boolean
  onClose(): void
}

export function Dialog({ title, children, wide = false, onClose }: DialogProps): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const id = useId()
  useEffect(() => {
    const element = dialog.current
    const before = document.activeElement
    element?.showModal()
    // focuses the first field, otherwise the dialog itself: the close button would be a poor start
    const fields = element?.querySelectorAll<HTMLElement>('input, select, textarea') ?? []
    const field = [...fields].find((each) => each.checkVisibility())
    ;(field ?? element)?.focus()
    return () => {
      element?.close()
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={dialog}
      tabIndex={-1}
      class={wide ? 'wide' : ''}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
      onClick={(event) => {
        if (event.target === dialog.current) onClose()
      }}
    >
      <div class="dialog-body">
        <header>
          <h2 id={id}>{title}</h2>
          <IconButton label="Close" icon="close" onClick={onClose} />
        </header>
        {children}
      </div>
    </dialog>
  )
}

interface DialogEndProps {
  /** Why the action failed. Empty if it hasn't failed. */
  readonly problem: string
  /** The label of the button that closes the dialog. */
  readonly close?: string
  /** The button of the action. */
  readonly children: ComponentChildren
  onClose(): void
}

export function DialogEnd({ problem, close = 'Cancel', children, onClose }: DialogEndProps): JSX.Element {
  return (
    <>
      <Problem text={problem} />
      <div class="dialog-end">
        <button type="button" onClick={onClose}>
          {close}
        </button>
        {children}
      </div>
    </>
  )
}
