// Crews of every kind of task, with parts that a test can change between two runs. Run as a program, prints the
// fingerprints of the tasks.
import {
  Agent,
  Crew,
  Task,
  tool,
  type AgentOptions,
  type CodeTaskOptions,
  type CrewOptions,
  type CrewTaskOptions,
  type TaskOptions,
  type ToolOptions,
} from 'reprise'
import { z } from 'zod'
import type { Inputs } from '../../../src/engine/definition.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

export const answering = (name = 'script') =>
  scriptedModel(
    [
      { when: 'Task: Facts', reply: { amount: 7 } },
      { when: 'It is polite', reply: { accept: true, reason: '' } },
      { when: /./, reply: 'done' },
    ],
    { name },
  )

type AgentParts = Partial<AgentOptions>
type TaskParts = Partial<TaskOptions>
type CrewParts = Partial<CrewOptions>
export const amount = z.object({ amount: z.number() })
export const short = ({ raw }: { readonly raw: string }) => raw.length < 1000
const silent = { info() {}, warn() {} }

export const lookup = (more: object = {}) =>
  tool({
    name: 'lookup',
    description: 'Look up',
    effect: 'read',
    input: z.object({ number: z.string() }),
    run: () => 1,
    ...more,
  })

export const second = tool({ name: 'second', description: 'Second', input: z.object({}), run: () => 2 })

export interface OfficeParts {
  readonly clerk?: AgentParts
  readonly lookup?: Partial<ToolOptions<typeof amount, unknown>> | object
  readonly facts?: TaskParts
  readonly letter?: TaskParts
  readonly judged?: TaskParts
  readonly checked?: TaskParts
  readonly order?: readonly string[]
  readonly crew?: CrewParts
}

/** facts → letter (with a tool); judged (by a function); checked (if a condition holds). */
export function office(parts: OfficeParts = {}, store: Store = memoryStore()): Crew {
  const agent = new Agent({
    role: 'Clerk',
    goal: 'Handle claims',
    backstory: 'Long in office',
    model: answering(),
    settings: { temperature: 0, maxOutputTokens: 900 },
    ...parts.clerk,
  })
  const task = (options: TaskOptions) => new Task({ agent, ...options })
  const facts = task({
    name: 'facts',
    description: 'Facts of {topic}',
    expectedOutput: 'A list',
    output: amount,
    context: [],
    ...parts.facts,
  })
  const letter = task({
    name: 'letter',
    description: 'Letter',
    context: [facts],
    tools: [lookup(parts.lookup)],
    ...parts.letter,
  })
  const judged = task({
    name: 'judged',
    description: 'Judged',
    context: [],
    guardrails: [short as never, 'It is polite'],
    ...parts.judged,
  })
  const checked = task({
    name: 'checked',
    description: 'Checked',
    context: [],
    when: ({ outputs }) => outputs['facts'] !== undefined,
    ...parts.checked,
  })
  const all = [facts, letter, judged, checked]
  const tasks = parts.order ? parts.order.map((name) => all.find((one) => one.name === name) as Task) : all
  return new Crew({ name: 'office', tasks, store, logger: silent, ...parts.crew })
}

export interface WorkParts {
  readonly fetch?: Partial<CodeTaskOptions>
  readonly sum?: Partial<CodeTaskOptions> | ((tasks: { readonly [name: string]: Task }) => Partial<CodeTaskOptions>)
  readonly research?: Partial<CrewTaskOptions>
  readonly made?: Partial<CrewTaskOptions>
  readonly find?: TaskParts
  readonly tell?: TaskParts
  readonly inner?: CrewParts
  readonly deep?: TaskParts
  readonly order?: readonly string[]
  readonly crew?: CrewParts
}

/**
 * fetch and note are given to sum (functions); research and made are crews, with the run's inputs and with some that a
 * function makes of fetch.
 */
export function works(parts: WorkParts = {}, store: Store = memoryStore()): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'Handle claims', model: answering() })
  const code = (options: CodeTaskOptions) => new Task({ effect: 'read', ...options })
  const fetch = code({ name: 'fetch', run: () => ({ amount: 7 }), output: amount, ...parts.fetch })
  const note = code({ name: 'note', run: () => 'noted', context: [] })
  const beside = code({ name: 'beside', run: () => 'beside', context: [] })
  const given = { context: [fetch, note] }
  const sums = typeof parts.sum === 'function' ? parts.sum({ fetch, note, beside }) : parts.sum
  const sum = code({ name: 'sum', run: ({ outputs }) => ({ ...outputs }), ...given, ...sums })
  const deepest = new Task({ name: 'deep', description: 'Deep', agent, ...parts.deep })
  const deep = new Task({ name: 'below', crew: new Crew({ name: 'deep', tasks: [deepest], logger: silent }) })
  const find = new Task({ name: 'find', description: 'Find {topic}', agent, ...parts.find })
  const tell = new Task({ name: 'tell', description: 'Tell', agent, ...parts.tell })
  const tasks = [find, deep, tell]
  const inner = new Crew({ name: 'inner', tasks, logger: silent, ...parts.inner })
  const research = new Task({ name: 'research', crew: inner, ...given, ...parts.research })
  const made = new Task({
    name: 'made',
    crew: new Crew({ name: 'small', tasks: [new Task({ name: 'small', description: 'Small {size}', agent })] }),
    inputs: ({ outputs }) => ({ size: (outputs['fetch'] as { amount: number }).amount }),
    ...given,
    ...parts.made,
  })
  const all: Task[] = [fetch, note, beside, sum, research, made]
  const ordered = parts.order ? parts.order.map((name) => all.find((one) => one.name === name) as Task) : all
  return new Crew({ name: 'works', tasks: ordered, store, logger: silent, ...parts.crew })
}

export interface ListParts {
  readonly list?: readonly { readonly id: string; readonly title: string }[]
  readonly version?: string
  readonly each?: TaskParts
}

/** `source` returns a list; `each` is executed for its items, which receive nothing else, and `after` receives all. */
export function listing(parts: ListParts = {}, store: Store = memoryStore()): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'Handle claims', model: answering() })
  const list = parts.list ?? [{ id: 'a', title: 'A' }]
  const source = new Task({
    name: 'source',
    effect: 'read',
    run: () => list,
    ...(parts.version ? { version: '2' } : {}),
  })
  const each = new Task({
    name: 'each',
    description: 'Write {item.title} of {topic}',
    agent,
    context: [],
    key: ({ id }: { readonly id: string }) => id,
    ...(parts.each as object),
    forEach: ({ outputs }) => outputs['source'] as typeof list,
  })
  const after = new Task({ name: 'after', description: 'After', agent, context: [each] })
  return new Crew({ name: 'listing', tasks: [source, each, after], store, logger: silent })
}

export interface TeamParts {
  readonly lead?: AgentParts
  readonly first?: AgentParts
  readonly second?: AgentParts
  readonly lookup?: object
  /** Where the first clerk's other tool stands. */
  readonly more?: 'before' | 'after'
  readonly agents?: readonly string[]
  readonly boss?: AgentParts
}

/**
 * `work` is done by a lead who may hand it to two clerks of one role; or by a boss, who hands it to any of the three.
 */
export function team(parts: TeamParts = {}, store: Store = memoryStore(), hierarchical = false): Crew {
  const model = answering()
  const lead = new Agent({ role: 'Lead', goal: 'Lead', model, allowDelegation: true, ...parts.lead })
  const tools = parts.more === 'before' ? [second, lookup(parts.lookup)] : [lookup(parts.lookup), second]
  const first = new Agent({ role: 'Clerk', goal: 'Write of {topic}', model, tools, ...parts.first })
  const other = new Agent({ role: 'Clerk', goal: 'Check', model, ...parts.second })
  const all: Record<string, Agent> = { lead, first, second: other }
  const agents = (parts.agents ?? Object.keys(all)).map((name) => all[name] as Agent)
  const boss = new Agent({ role: 'Boss', goal: 'Rule', model, ...parts.boss })
  const work = new Task({ name: 'work', description: 'Work', ...(hierarchical ? {} : { agent: lead }) })
  const led = hierarchical ? ({ process: 'hierarchical', manager: boss } as const) : {}
  // includes an input that no text uses
  const given = z.looseObject({})
  return new Crew({ name: 'team', tasks: [work], inputs: given, agents, store, logger: silent, ...led })
}

export const inputs = { topic: 'water', other: { a: 1, b: 2 } }

/** The fingerprint of every task of every crew, before any output is known. */
export function fingerprints(given: Inputs = inputs): unknown {
  const crews = [office(), works(), team(), team({}, memoryStore(), true)]
  return crews.map((crew) => crew['~definition']({}).tasks.map((task) => task.fingerprint(given, new Map())))
}

if (import.meta.main) process.stdout.write(JSON.stringify(fingerprints()))
