// JSON as a collapsible tree. Long lists and texts are shown in parts, so that large values stay cheap.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Json } from '../../../journal/json.ts'

const pageSize = 50
/** Characters of a text that are shown at first. */
const textLimit = 600

interface TreeProps {
  readonly value: Json
  /** Levels that are open at first. */
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
  const members: [string, Json][] = Array.isArray(value)
    ? value.map((item, index) => [String(index), item as Json])
    : Object.entries(value as { [key: string]: Json })
  if (members.length === 0) return <span class="json-word">{Array.isArray(value) ? '[]' : '{}'}</span>
  return <Members members={members} list={Array.isArray(value)} open={open} />
}

function Members({
  members,
  list,
  open,
}: {
  readonly members: readonly [string, Json][]
  readonly list: boolean
  readonly open: number
}): JSX.Element {
  const [shown, setShown] = useState(pageSize)
  const rest = members.length - shown
  return (
    <ul class={list ? 'json-list' : 'json-object'}>
      {members.slice(0, shown).map(([key, member]) => (
        <Member key={key} name={key} value={member} open={open} list={list} />
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

function Member({
  name,
  value,
  open,
  list,
}: {
  readonly name: string
  readonly value: Json
  readonly open: number
  readonly list: boolean
}): JSX.Element {
  const nested = typeof value === 'object' && value !== null && Object.keys(value).length > 0
  const [isOpen, setOpen] = useState(open > 0)
  const key = <span class={list ? 'json-index' : 'json-key'}>{name}</span>
  if (!nested)
    return (
      <li class="json-leaf">
        {key} <Value value={value} open={0} />
      </li>
    )
  return (
    <li>
      <button type="button" class="json-toggle" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {key} <span class="json-size">{sizeWords(value)}</span>
      </button>
      {isOpen && <Value value={value} open={open - 1} />}
    </li>
  )
}

function sizeWords(value: Json): string {
  if (Array.isArray(value)) return `${value.length} ${value.length === 1 ? 'item' : 'items'}`
  const count = Object.keys(value as object).length
  return `${count} ${count === 1 ? 'field' : 'fields'}`
}

function Text({ text }: { readonly text: string }): JSX.Element {
  const [whole, setWhole] = useState(false)
  const cut = !whole && text.length > textLimit
  return (
    <span class="json-text">
      {cut ? `${text.slice(0, textLimit)}…` : text === '' ? '""' : text}
      {cut && (
        <button type="button" class="quiet" onClick={() => setWhole(true)}>
          {text.length - textLimit} more characters
        </button>
      )}
    </span>
  )
}
