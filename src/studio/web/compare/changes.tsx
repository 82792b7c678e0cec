// Differences between two runs: JSON values by path, text line by line, prompts and steps.
import type { JSX } from 'preact'
import type { Json } from '../../../journal/json.ts'
import type { JsonChange } from '../../../runs/diff/json-changes.ts'
import { plural } from '../../../text/words.ts'
import { ValueView } from '../parts/output-view.tsx'
import { useState } from 'preact/hooks'
import type { TextDiff, TextPart } from '../../../runs/diff/text-diff.ts'
import type { PromptDiff } from '../../../runs/diff/prompt-diff.ts'
import type { Step, StepsDiff } from '../../../runs/diff/steps-diff.ts'

const maxShown = 100

export function JsonChanges({ changes }: { readonly changes: readonly JsonChange[] }): JSX.Element {
  return (
    <ul class="changes">
      {changes.slice(0, maxShown).map((change) => (
        <li key={`${change.kind} ${change.path}`}>
          <code class="change-path">{change.path}</code>
          <Cell side="removed" value={change.kind === 'added' ? undefined : change.a} />
          <Cell side="added" value={change.kind === 'removed' ? undefined : change.b} />
        </li>
      ))}
      {changes.length > maxShown && <li class="faint">{plural(changes.length - maxShown, 'more change')}</li>}
    </ul>
  )
}

function Cell({ side, value }: { readonly side: 'removed' | 'added'; readonly value: Json | undefined }): JSX.Element {
  if (value === undefined) return <div class="change-cell is-none faint">none</div>
  return (
    <div class={`change-cell is-${side}`}>
      <ValueView value={value} />
    </div>
  )
}

/** Equal lines shown before and after a change. */
const contextLines = 2

export function TextChanges({ diff }: { readonly diff: TextDiff }): JSX.Element {
  return (
    <div class="text-diff" role="group" aria-label="A on the left, B on the right">
      {diff.parts.map((part, index) => (
        <Part key={index} part={part} first={index === 0} last={index === diff.parts.length - 1} />
      ))}
    </div>
  )
}

interface PartProps {
  readonly part: TextPart
  readonly first: boolean
  readonly last: boolean
}

function Part({ part, first, last }: PartProps): JSX.Element {
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

interface SameProps {
  readonly lines: readonly string[]
  readonly first: boolean
  readonly last: boolean
}

function Same({ lines, first, last }: SameProps): JSX.Element {
  const [whole, setWhole] = useState(false)
  const before = first ? 0 : contextLines
  const after = last ? 0 : contextLines
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

export function PromptChanges({ prompt }: { readonly prompt: PromptDiff }): JSX.Element | null {
  const { instructions, message, model, settings, schema, tools } = prompt
  if (!instructions && !message && !model && settings.length + schema.length + tools.length === 0) return null
  return (
    <section>
      <h3>Prompt</h3>
      {model && (
        <p>
          Model <del>{model.a}</del> <ins>{model.b}</ins>
        </p>
      )}
      {instructions && <TextChanges diff={instructions} />}
      {message && <TextChanges diff={message} />}
      {[...settings, ...schema].length > 0 && <JsonChanges changes={[...settings, ...schema]} />}
      {tools.map((tool) => (
        <div key={tool.name}>
          <p>
            Tool <code>{tool.name}</code> {tool.kind}
          </p>
          {tool.kind === 'changed' && <JsonChanges changes={tool.changes} />}
        </div>
      ))}
    </section>
  )
}

export function StepChanges({ steps }: { readonly steps: StepsDiff }): JSX.Element | null {
  const { a, b, parting, results } = steps
  if (!parting && results.length === 0) return null
  return (
    <section>
      <h3>Steps</h3>
      <p class="soft">
        A: {describeCounts(a)}. B: {describeCounts(b)}.
      </p>
      {parting && (
        <p>
          They diverge where A {describeStep(parting.a)} and B {describeStep(parting.b)}.
        </p>
      )}
      {results.map((result) => (
        <div key={result.a}>
          <p>
            <code>{result.tool}</code> returned a different result
          </p>
          <JsonChanges changes={result.changes} />
        </div>
      ))}
    </section>
  )
}

function describeCounts(counts: StepsDiff['a']): string {
  return counts
    ? `${plural(counts.modelCalls, 'model call')}, ${plural(counts.toolCalls, 'tool call')}`
    : 'no steps in this run'
}

function describeStep(step: Step | undefined): string {
  if (!step) return 'has no more steps'
  return step.kind === 'model' ? 'calls the model' : `calls ${step.tool} (${JSON.stringify(step.input)})`
}
