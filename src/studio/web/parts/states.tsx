// Views without data (loading, empty, failed), error messages, and collapsible parts.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Resource } from '../api/resource.ts'

/** Appears after a moment, because most responses arrive faster than anyone could read it. */
export function Loading({ what }: { readonly what: string }): JSX.Element {
  const [late, setLate] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 250)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div class="state" role="status">
      {late && <p class="soft">Loading {what} …</p>}
    </div>
  )
}

interface EmptyProps {
  readonly title: string
  /** Whether the view is the whole page, so that its title is the page's heading. */
  readonly whole?: boolean
  readonly children?: ComponentChildren
}

export function Empty({ title, whole = false, children }: EmptyProps): JSX.Element {
  return (
    <div class="state">
      {whole ? <h1 class="state-title">{title}</h1> : <p class="state-title">{title}</p>}
      <div class="soft">{children}</div>
    </div>
  )
}

export function Failed({ error, again }: { readonly error: unknown; again?(): void }): JSX.Element {
  return (
    <div class="state is-error" role="alert">
      <p class="state-title">Something went wrong</p>
      <p>{errorText(error)}</p>
      {again && (
        <button type="button" onClick={again}>
          Try again
        </button>
      )}
    </div>
  )
}

interface LoadedProps<T> {
  readonly from: Resource<T>
  readonly what: string
  children(value: T): JSX.Element
}

/** Renders a resource once it is loaded. Until then, shows that it is loading or has failed. */
export function Loaded<T>({ from: { value, error, again }, what, children }: LoadedProps<T>): JSX.Element {
  if (value !== undefined) return children(value)
  return error === undefined ? <Loading what={what} /> : <Failed error={error} again={again} />
}

/** An error message. Renders nothing if the text is empty. */
export function Problem({ text }: { readonly text: string }): JSX.Element | null {
  if (text === '') return null
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  )
}

interface FoldableProps {
  readonly title: string
  readonly open?: boolean
  readonly children: ComponentChildren
}

export function Foldable({ title, children, ...rest }: FoldableProps): JSX.Element {
  return (
    <details {...rest} class="foldable">
      <summary>{title}</summary>
      {children}
    </details>
  )
}

export function errorText(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error)
  return message === '' ? 'Unknown error.' : sentence(message)
}

export function sentence(words: string): string {
  return words.charAt(0).toUpperCase() + words.slice(1)
}
