// The keys that hold now.
import type { JSX } from 'preact'
import { Dialog } from '../parts/dialog.tsx'
import { groups } from './shortcuts.ts'

export function Help({ onClose }: { onClose(): void }): JSX.Element {
  return (
    <Dialog title="Keys" onClose={onClose} wide>
      <div class="keys">
        {groups.value.map(({ title, shortcuts }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {shortcuts.flatMap(({ keys, does }) => [
                <dt key={keys}>
                  {keys.split(/[ +]/).map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dt>,
                <dd key={`${keys} does`}>{does}</dd>,
              ])}
            </dl>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
