// Keyboard shortcuts: each view registers its own while it is shown, and the help lists the active ones. A shortcut is
// a character, a named key, or a sequence of two: `j`, `Enter`, `g r`.
import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'

export interface Shortcut {
  readonly keys: string
  /** What the shortcut does, for the help. */
  readonly does: string
  run(event: KeyboardEvent): void
  /** Whether it is also active while typing. */
  readonly whileTyping?: boolean
}

interface Group {
  readonly title: string
  readonly shortcuts: readonly Shortcut[]
}

/** In the order of registration. For the same key, the latest wins. */
export const groups = signal<readonly Group[]>([])

const pauseMs = 1_200
let prefix = ''
let prefixAt = 0

export function useShortcuts(title: string, shortcuts: readonly Shortcut[], active = true): void {
  const newest = useRef(shortcuts)
  newest.current = shortcuts
  const allKeys = shortcuts.map(({ keys }) => keys).join()
  useEffect(() => {
    if (!active) return
    const group: Group = {
      title,
      // calls the functions of the latest rendering
      shortcuts: newest.current.map((shortcut, index) => ({
        ...shortcut,
        run: (event) => newest.current[index]?.run(event),
      })),
    }
    groups.value = [...groups.peek(), group]
    return () => {
      groups.value = groups.peek().filter((other) => other !== group)
    }
  }, [title, allKeys, active])
}

/** Call it once per window. */
export function listenToKeys(): void {
  addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.isComposing) return
    const typing = isTyping(event.target)
    const modified = event.metaKey || event.ctrlKey || event.altKey
    const name = `${event.metaKey || event.ctrlKey ? 'Ctrl+' : ''}${event.key}`
    if (activatesTarget(event)) return
    const found = matching(name, { typing, modified, now: event.timeStamp })
    if (!found) return
    event.preventDefault()
    found.run(event)
  })
}

function matching(
  name: string,
  { typing, modified, now }: { readonly typing: boolean; readonly modified: boolean; readonly now: number },
): Shortcut | undefined {
  // while a dialog is open, the shortcuts of the page behind it are inactive
  const dialog = document.querySelector('dialog[open]') !== null
  const known = groups.peek().filter((group) => !dialog || group.title === 'Dialog')
  const all = known.flatMap((group) => group.shortcuts).filter((shortcut) => !typing || shortcut.whileTyping)
  const sequence = prefix !== '' && now - prefixAt < pauseMs ? `${prefix} ${name}` : undefined
  prefix = ''
  const found =
    (sequence === undefined ? undefined : all.findLast(({ keys }) => keys === sequence)) ??
    all.findLast(({ keys }) => keys === name)
  if (found) return found
  if (!modified && !typing && all.some(({ keys }) => keys.startsWith(`${name} `))) {
    prefix = name
    prefixAt = now
  }
  return undefined
}

/** Whether the browser activates the focused button or link: with Enter or Space, but not with Ctrl. */
function activatesTarget({ key, ctrlKey, metaKey, target }: KeyboardEvent): boolean {
  const pressed = (key === 'Enter' || key === ' ') && !ctrlKey && !metaKey
  return pressed && target instanceof Element && target.closest('a, button, summary, [role=button]') !== null
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || ['TEXTAREA', 'SELECT'].includes(target.tagName) || isTextField(target)
}

function isTextField(target: HTMLElement): boolean {
  return target instanceof HTMLInputElement && !['checkbox', 'radio', 'button', 'submit'].includes(target.type)
}
