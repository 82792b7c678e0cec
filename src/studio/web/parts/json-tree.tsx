// JSON as a collapsible tree. Long lists and strings are shown in parts, so that large values are cheap to render.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'
import { plural } from '../../../text/words.ts'

const pageSize = 50
/** How many characters of a string are shown at first. */
const textLimit = 600

interface TreeProps {
  readonly value: Json
  /** How many levels are open at first. */
  readonly open?: number
}

export function JsonTree({ value, open = 2 }: TreeProps): JSX.Element {
  return (
    <div class="json">
      <Value value={value} open={open} />
    </div>
  )
}

function Value({ value, open }: Required<TreeProps>): JSX.Element {
  if (value === null || typeof value === 'boolean') return <span class="json-word">{String(value)}</span>
  if (typeof value === 'number') return <span class="json-number">{String(value)}</span>
  if (typeof value === 'string') return <Text text={value} />
  if (Object.keys(value).length === 0) return <span class="json-word">{Array.isArray(value) ? '[]' : '{}'}</span>
  return <Members value={value} open={open} />
}

function Members({ value, open }: { readonly value: object; readonly open: number }): JSX.Element {
  const [shown, setShown] = useState(pageSize)
  const members = Object.entries(value) as [string, Json][]
  const rest = members.length - shown
  const keyClass = Array.isArray(value) ? 'json-index' : 'json-key'
  return (
    <ul>
      {members.slice(0, shown).map(([key, member]) => (
        <Member key={key} name={<span class={keyClass}>{key}</span>} value={member} open={open} />
      ))}
      {rest > 0 && (
        <li>
          <button type="button" class="quiet" onClick={() => setShown(shown + pageSize * 4)}>
            {rest} more
          </button>
        </li>
      )}
    </ul>
  )
}

function Member({ name, value, open }: Required<TreeProps> & { readonly name: JSX.Element }): JSX.Element {
  const nested = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  const [isOpen, setOpen] = useState(open > 0)
  if (!nested)
    return (
      <li class="json-leaf">
        {name} <Value value={value} open={0} />
      </li>
    )
  return (
    <li>
      <button type="button" class="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {name} <span class="json-size">{sizeWords(value)}</span>
      </button>
      {isOpen && <Value value={value} open={open - 1} />}
    </li>
  )
}

function sizeWords(value: Json): string {
  const count = Object.keys(value as object).length
  return plural(count, Array.isArray(value) ? 'item' : 'field')
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const [whole, setWhole] = useState(false)
  const isCut = !whole && text.length > textLimit
  return (
    <span class="json-text">
      {isCut ? `${text.slice(0, textLimit)}…` : text === '' ? '""' : text}
      {isCut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {text.length - textLimit} more characters
        </button>
      )}
    </span>
  )
}
