// What a task gave, or anything else that a model wrote: structured as a tree, text as markdown, and either as it is.
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'

export function OutputView({ raw }: { readonly raw: string }): JSX.Element {
  const [plain, setPlain] = useState(false)
  const structured = useMemo(() => structureIn(raw), [raw])
  return (
    <div class="output">
      {plain ? (
        <pre class="code" tabIndex={0}>
          {raw}
        </pre>
      ) : structured === undefined ? (
        <Markdown text={raw} />
      ) : (
        <JsonTree value={structured} />
      )}
      {differs(raw) && (
        <button type="button" class="quiet as-is" aria-pressed={plain} onClick={() => setPlain(!plain)}>
          {plain ? 'Rendered' : 'Raw'}
        </button>
      )}
    </div>
  )
}

/** A plain line is shown as it is anyway. */
function differs(raw: string): boolean {
  return /[\n*_`#[\]{}|<>~]|:\/\//.test(raw)
}

/** A JSON object or list that the text is; a number or a quoted word is shown as text. */
export function structureIn(raw: string): Json | undefined {
  if (!/^\s*[{[]/.test(raw)) return undefined
  try {
    return JSON.parse(raw) as Json
  } catch {
    return undefined
  }
}

/** A value that may be a text, for what tools return and people give. */
export function ValueView({ value }: { readonly value: Json }): JSX.Element {
  if (typeof value === 'string') return <OutputView raw={value} />
  return <JsonTree value={value} />
}
