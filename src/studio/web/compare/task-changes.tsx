// What was sent to the model and what it did, where that differs.
import type { JSX } from 'preact'
import type { PromptDiff } from '../../../runs/diff/prompt-diff.ts'
import type { Step, StepsDiff } from '../../../runs/diff/steps-diff.ts'
import { JsonChanges } from './json-changes.tsx'
import { TextChanges } from './text-changes.tsx'

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
          They part where A {describeStep(parting.a)} and B {describeStep(parting.b)}.
        </p>
      )}
      {results.map((result) => (
        <div key={result.a}>
          <p>
            <code>{result.tool}</code> returned something else
          </p>
          <JsonChanges changes={result.changes} />
        </div>
      ))}
    </section>
  )
}

function describeCounts(counts: StepsDiff['a']): string {
  return counts ? `${counts.modelCalls} model calls, ${counts.toolCalls} tool calls` : 'no steps in this run'
}

function describeStep(step: Step | undefined): string {
  if (!step) return 'has no further step'
  return step.kind === 'model' ? 'asks the model' : `calls ${step.tool} (${JSON.stringify(step.input)})`
}
