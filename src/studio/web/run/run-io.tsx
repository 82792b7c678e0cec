// What a run was given, and what it came to.
import type { JSX } from 'preact'
import type { RunDetail } from '../../api/contract.ts'
import { JsonTree } from '../parts/json-tree.tsx'
import { OutputView } from '../parts/output-view.tsx'

export function RunIo({ detail }: { readonly detail: RunDetail }): JSX.Element {
  const { inputs, raw, tasks } = detail
  const done = tasks.filter((task) => task.raw !== '')
  return (
    <div class="io">
      <section>
        <h2>Inputs</h2>
        {Object.keys(inputs).length === 0 ? <p class="soft">It was given nothing.</p> : <JsonTree value={inputs} />}
      </section>
      {raw !== undefined && (
        <section>
          <h2>Output</h2>
          <OutputView raw={raw} />
        </section>
      )}
      {raw === undefined && done.length === 0 && <p class="soft">No task has given anything yet.</p>}
      {raw === undefined &&
        done.map((task) => (
          <section key={task.name}>
            <h2>{task.name}</h2>
            <OutputView raw={task.raw} />
          </section>
        ))}
    </div>
  )
}
