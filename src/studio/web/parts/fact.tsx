// A named value in a list of facts.
import type { ComponentChildren, JSX } from 'preact'

export function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="number">{children}</dd>
    </div>
  )
}
