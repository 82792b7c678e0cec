// A link within the page: a real one, so that it can be opened in another tab, copied and followed by keyboard.
import type { ComponentChildren, JSX } from 'preact'
import { href, navigate } from './router.ts'

interface LinkProps {
  readonly class?: string
  readonly style?: { readonly [property: string]: string }
  readonly 'aria-current'?: 'page' | 'true' | undefined
  readonly to: string
  readonly replace?: boolean
  readonly children?: ComponentChildren
}

export function Link({ to, replace = false, children, ...rest }: LinkProps): JSX.Element {
  const follow = (event: MouseEvent): void => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    event.preventDefault()
    navigate(to, { replace })
  }
  return (
    <a {...rest} href={href(to)} onClick={follow}>
      {children}
    </a>
  )
}
