// Two texts side by side, line by line, with the words that changed marked; one below the other on a phone.
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { TextDiff, TextPart } from '../../../runs/diff/text-diff.ts'

/** Equal lines that are shown before and after a change. */
const around = 2

export function TextChanges({ diff }: { readonly diff: TextDiff }): JSX.Element {
  return (
    <div class="text-diff" role="group" aria-label="A on the left, B on the right">
      {diff.parts.map((part, index) => (
        <Part key={index} part={part} first={index === 0} last={index === diff.parts.length - 1} />
      ))}
    </div>
  )
}

function Part({
  part,
  first,
  last,
}: {
  readonly part: TextPart
  readonly first: boolean
  readonly last: boolean
}): JSX.Element {
  if (part.kind === 'changed')
    return (
      <div class="text-row">
        <p class="text-cell is-removed">
          {part.words.map(({ kind, text }, index) =>
            kind === 'added' ? null : kind === 'removed' ? <del key={index}>{text}</del> : text,
          )}
        </p>
        <p class="text-cell is-added">
          {part.words.map(({ kind, text }, index) =>
            kind === 'removed' ? null : kind === 'added' ? <ins key={index}>{text}</ins> : text,
          )}
        </p>
      </div>
    )
  if (part.kind === 'same') return <Same lines={part.lines} first={first} last={last} />
  const text = part.lines.join('\n')
  return (
    <div class="text-row">
      <p class={part.kind === 'removed' ? 'text-cell is-removed' : 'text-cell is-none'}>
        {part.kind === 'removed' ? text : ''}
      </p>
      <p class={part.kind === 'added' ? 'text-cell is-added' : 'text-cell is-none'}>
        {part.kind === 'added' ? text : ''}
      </p>
    </div>
  )
}

function Same({
  lines,
  first,
  last,
}: {
  readonly lines: readonly string[]
  readonly first: boolean
  readonly last: boolean
}): JSX.Element {
  const [whole, setWhole] = useState(false)
  const before = first ? 0 : around
  const after = last ? 0 : around
  const hidden = lines.length - before - after
  if (whole || hidden < 3) return <SameRow text={lines.join('\n')} />
  return (
    <>
      {before > 0 && <SameRow text={lines.slice(0, before).join('\n')} />}
      <button type="button" class="quiet text-more" onClick={() => setWhole(true)}>
        {hidden} equal lines
      </button>
      {after > 0 && <SameRow text={lines.slice(-after).join('\n')} />}
    </>
  )
}

function SameRow({ text }: { readonly text: string }): JSX.Element {
  return (
    <div class="text-row is-same">
      <p class="text-cell">{text}</p>
      <p class="text-cell" aria-hidden="true">
        {text}
      </p>
    </div>
  )
}
