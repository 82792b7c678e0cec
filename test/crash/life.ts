// One life of a run, in any process: from its current state to its end or to a question, with all events heard
// meanwhile.
import type { Crew, RunEvent } from 'reprise'
import type { Store } from '../../src/stores/store.ts'
import { crews } from './feature-crews.ts'
import { inputsOf } from './wider-crews.ts'

export interface Lived {
  readonly status: string
  readonly outputs: unknown
  /** Only for crews with a listener. */
  readonly heard?: Heard
}

export interface Heard {
  /** The numbers of the entries. */
  readonly entries: readonly number[]
  /** The streamed text of the models, by path. */
  readonly texts: { readonly [path: string]: string }
}

/** Opens a crew. Disposing of it closes its store and everything else that it has opened. */
export async function openCrew(name: string, run: string, store: string | Store) {
  const stack = new AsyncDisposableStack()
  const made = await crews[name]?.(run, stack)
  if (!made) throw new Error(`there is no crew ${name}`)
  const crew = stack.use(made.with({ store }))
  return { crew, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

export async function live(crew: Crew, name: string, id: string): Promise<Lived> {
  const run = await crew.kickoff({ id, inputs: inputsOf(name, id) }).started
  const heard = name === 'spoken' ? await hear(run.events()) : undefined
  const { status, tasks, output } = await run.result()
  // the steps of a flow are recorded in any order
  const outputs = crew.name === 'flow' ? output : tasks.map((task) => task.output ?? null)
  return { status, outputs, ...(heard ? { heard } : {}) }
}

/** Collects the events of a run up to its end. */
export async function hear(events: AsyncIterable<RunEvent>): Promise<Heard> {
  const entries: number[] = []
  const texts: { [path: string]: string } = {}
  for await (const event of events) {
    if ('seq' in event) entries.push(event.seq)
    else if (event.type === 'text.delta') texts[event.path] = (texts[event.path] ?? '') + event.text
    else delete texts[event.path]
  }
  return { entries, texts }
}
