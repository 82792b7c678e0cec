// Places at which two JSON values differ, with what stands there on each side.
import type { JSX } from 'preact'
import type { Json } from '../../../journal/json.ts'
import type { JsonChange } from '../../../runs/diff/json-changes.ts'
import { plural } from '../../../text/words.ts'
import { ValueView } from '../parts/output-view.tsx'

const most = 100

export function JsonChanges({ changes }: { readonly changes: readonly JsonChange[] }): JSX.Element {
  return (
    <ul class="changes">
      {changes.slice(0, most).map((change) => (
        <li key={`${change.kind} ${change.path}`}>
          <code class="change-path">{change.path}</code>
          <Cell side="removed" value={change.kind === 'added' ? undefined : change.a} />
          <Cell side="added" value={change.kind === 'removed' ? undefined : change.b} />
        </li>
      ))}
      {changes.length > most && <li class="faint">{plural(changes.length - most, 'more change')}</li>}
    </ul>
  )
}

function Cell({ side, value }: { readonly side: 'removed' | 'added'; readonly value: Json | undefined }): JSX.Element {
  if (value === undefined) return <div class="change-cell is-none faint">nothing</div>
  return (
    <div class={`change-cell is-${side}`}>
      <ValueView value={value} />
    </div>
  )
}
