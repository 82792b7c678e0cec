// A crew of six tasks, four of them in a diamond. Tests can change its texts and answers between two runs.
import { Agent, Crew, Task, type CrewOptions, type Logger } from 'reprise'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'

export const diamondInputs = { topic: 'water', reader: 'Ada' }
export const taskNames = ['start', 'left', 'right', 'side', 'join', 'end'] as const
type Name = (typeof taskNames)[number]

export interface DiamondOptions {
  readonly store?: Store
  /** Descriptions that replace the usual ones. */
  readonly texts?: { readonly [K in Name]?: string }
  /** Answers of the tasks. Default: the name of the task. */
  readonly answers?: { readonly [K in Name]?: string }
  readonly more?: Partial<CrewOptions>
  /** Script entries that are tried before those of the tasks. */
  readonly script?: readonly ScriptEntry[]
}

const usual = {
  start: 'Start with {topic}',
  left: 'Go left',
  right: 'Go right',
  side: 'Stay aside',
  join: 'Join both',
  end: 'End for {reader}',
}

/** start → left, right → join → end. `side` has no context; `end` has `join` and `side`. */
export function diamond({ store = memoryStore(), texts, answers, more, script = [] }: DiamondOptions = {}) {
  const described: Record<Name, string> = { ...usual, ...texts }
  const entries = taskNames.map((name) => ({
    when: (conversation: string) => conversation.includes(`Task: ${described[name].replace(/\{.*/, '')}`),
    reply: answers?.[name] ?? name,
    usage: { input: 100, output: 10 },
  }))
  const model = scriptedModel([...script, ...entries])
  const agent = new Agent({ role: 'Worker', goal: 'Work', model })
  const task = (name: Name, context: readonly Task[]) =>
    new Task({ name: name, description: described[name], agent, context })
  const start = task('start', [])
  const left = task('left', [start])
  const right = task('right', [start])
  const side = task('side', [])
  const join = task('join', [left, right])
  const end = task('end', [join, side])
  const warnings: string[] = []
  const logger: Logger = { info: () => {}, warn: (message) => void warnings.push(message) }
  const tasks = [start, left, right, side, join, end] as const
  const crew = new Crew({ name: 'diamond', tasks, store, logger, ...more } as CrewOptions<typeof tasks>)
  return { crew, model, store, warnings, tasks: { start, left, right, side, join, end } }
}

/** The tasks of the model calls, in order. */
export function asked(model: ScriptedModel, since = 0): string[] {
  return model.calls.slice(since).map(({ lastMessage }) => {
    const text = /Task: (.*)/.exec(lastMessage)?.[1] ?? ''
    return taskNames.find((name) => text.toLowerCase().includes(name)) ?? text
  })
}

/** The journal of a run, as text. */
export async function bytesOf(store: Store, run: string): Promise<string> {
  const lines: string[] = []
  for await (const { bytes } of store.read(run)) lines.push(Buffer.from(bytes).toString())
  return lines.join('\n')
}
