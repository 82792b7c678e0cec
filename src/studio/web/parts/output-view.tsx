// An output or other text from a model: JSON as a tree, other text as Markdown. Both can be shown raw.
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
      {hasMarkup(raw) && (
        <button type="button" class="quiet raw-toggle" aria-pressed={plain} onClick={() => setPlain(!plain)}>
          {plain ? 'Rendered' : 'Raw'}
        </button>
      )}
    </div>
  )
}

/** Whether the rendered text may differ from the raw text. */
function hasMarkup(raw: string): boolean {
  return /[\n*_`#[\]{}|<>~]|:\/\//.test(raw)
}

/** Parses text that is a JSON object or array. Undefined for other text, even a number or quoted string. */
export function structureIn(raw: string): Json | undefined {
  if (!/^\s*[{[]/.test(raw)) return undefined
  try {
    return JSON.parse(raw) as Json
  } catch {
    return undefined
  }
}

/** A value from a tool or a person. A string is shown as an output. */
export function ValueView({ value }: { readonly value: Json }): JSX.Element {
  if (typeof value === 'string') return <OutputView raw={value} />
  return <JsonTree value={value} />
}
