// What the compiler says to users. Nothing here runs: `tsc` fails when an expected error does not come, or another one
// does.
import { Agent, Crew, Task, tool, type CodeContext, type Tool, type TaskResult } from 'reprise'
import { z } from 'zod'

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
function same<A, B>(..._: Same<A, B> extends true ? [] : [differs: never]): void {}

const analyst = new Agent({ role: 'Analyst', goal: 'Serve {customer}' })
const clerk = new Agent({ role: 'Clerk', goal: 'Write' })
const facts = new Task({
  name: 'facts',
  description: 'Facts of {notes}',
  agent: analyst,
  output: z.object({ policy: z.string(), since: z.string().transform((day) => new Date(day)) }),
})
const note = new Task({
  name: 'note',
  description: 'Note',
  expectedOutput: '{length} words',
  agent: clerk,
  context: [facts],
})
const crew = new Crew({ name: 'claims', tasks: [facts, note] })
const inputs = { notes: 'x', customer: 'Ada', length: 3 }

export async function queues(): Promise<void> {
  const run = await crew.enqueue({ inputs, id: 'mine', priority: 'high', delay: 60 })
  const result = await run.result()
  const policy: string | undefined = result.task('facts').output?.policy
  void policy
  // @ts-expect-error -- inputs are missing
  await crew.enqueue()
  // @ts-expect-error -- notes is missing
  await crew.enqueue({ inputs: { customer: 'Ada', length: 3 } })
  // @ts-expect-error -- a priority that does not exist
  await crew.enqueue({ inputs, priority: 1 })
  // @ts-expect-error -- a queued run is not executed by its caller
  await crew.enqueue({ inputs, onQuestion: () => undefined })
  await crew.schedule({ cron: '0 2 * * *', inputs })
  await crew.schedule({ cron: '0 2 * * *', inputs: (time) => ({ ...inputs, notes: time.toISOString() }) })
  // @ts-expect-error -- inputs are missing
  await crew.schedule({ cron: '0 2 * * *' })
  // @ts-expect-error -- notes is missing
  await crew.schedule({ cron: '0 2 * * *', inputs: () => ({ customer: 'Ada', length: 3 }) })
}

export async function kickoffs(): Promise<void> {
  await crew.kickoff({ inputs })
  await crew.kickoff({ inputs, id: 'mine', through: 'facts' })
  // @ts-expect-error -- inputs are missing
  await crew.kickoff()
  // @ts-expect-error -- inputs are missing
  await crew.kickoff({ id: 'mine' })
  // @ts-expect-error -- notes is missing
  await crew.kickoff({ inputs: { customer: 'Ada', length: 3 } })
  // @ts-expect-error -- customer, which the agent's goal uses, is missing
  await crew.kickoff({ inputs: { notes: 'x', length: 3 } })
  // @ts-expect-error -- nots is misspelt
  await crew.kickoff({ inputs: { notes: 'x', customer: 'Ada', length: 3, nots: 'x' } })
  // @ts-expect-error -- an option that does not exist
  await crew.kickoff({ inputs, trough: 'facts' })
}

export async function results(): Promise<void> {
  const result = await crew.kickoff({ inputs })
  if (result.status === 'completed') {
    same<typeof result.output, string>()
    same<(typeof result.tasks)[0], TaskResult<{ policy: string; since: Date }>>()
    same<(typeof result.tasks)[1], TaskResult<string>>()
  } else {
    same<typeof result.output, undefined>()
  }
  const { output } = result.task(facts)
  same<typeof output, { policy: string; since: Date } | undefined>()
  same<ReturnType<typeof byName>['output'], { policy: string; since: Date } | undefined>()
  function byName() {
    return result.task('facts')
  }
  const run = await crew.run('mine').view()
  const since: Date | undefined = run.task(facts).output?.since
  void since
}

export async function people(): Promise<void> {
  // what a person puts in place of an output is what comes before the transforms
  await crew.run('run').edit(facts, { policy: 'P-1', since: '2020-01-01' })
  await crew.run('run').edit(note, 'a text')
  // @ts-expect-error -- since is a string before the transform
  await crew.edit('run', facts, { policy: 'P-1', since: new Date() })
  // @ts-expect-error -- policy is missing
  await crew.edit('run', facts, { since: '2020-01-01' })
  // @ts-expect-error -- a task without a schema has a text
  await crew.edit('run', note, { text: 'x' })
  await crew.run('run').answer('q1', { decision: 'happened', result: { paid: 5 } }, { by: 'ada' })
  // @ts-expect-error -- happened needs a result
  await crew.answer('run', 'q1', { decision: 'happened' })
  // @ts-expect-error -- no such decision
  await crew.answer('run', 'q1', { decision: 'maybe' })
}

export async function replays(): Promise<void> {
  await crew.replay(note)
  await crew.replay('note', { inputs: { length: 4 } })
  await crew.replay(note.id, { runId: 'first', effects: 'ask' })
  // @ts-expect-error -- inputs belong into inputs
  await crew.replay(note, { length: 4 })
  // @ts-expect-error -- an input that no text uses
  await crew.replay(note, { inputs: { lenght: 4 } })
  // @ts-expect-error -- no such policy
  await crew.replay(note, { effects: 'never' })
  // @ts-expect-error -- no such policy
  await crew.resume('run', { changed: 'sometimes' })
}

export async function forks(): Promise<void> {
  await crew.replay(note, { only: 'descendants', stale: 'refuse', id: 'mine' })
  await crew.fork({ from: 'note', outputs: { facts: { policy: 'P-1', since: '2020-01-01' } }, by: 'ada' })
  await crew.fork({ outputs: { note: 'my note' }, inputs: { length: 4 } })
  await crew.refresh({ runId: 'mine', inputs: { length: 4 } })
  const plan = await crew.plan({ from: note, outputs: { facts: { policy: 'P-1', since: '2020' } }, reuse: true })
  same<typeof plan.execute, readonly string[]>()
  // @ts-expect-error -- since is a string before the transform
  await crew.fork({ outputs: { facts: { policy: 'P-1', since: new Date() } } })
  // @ts-expect-error -- no such task
  await crew.fork({ outputs: { notes: 'x' } })
  // @ts-expect-error -- no such policy
  await crew.replay(note, { stale: 'drop' })
  // @ts-expect-error -- a refresh has no start
  await crew.refresh({ from: note })
}

export async function references(): Promise<void> {
  // a name, an id, or a text that is known only at run time
  await crew.replay('note', { through: dynamic })
  await crew.replay(dynamic, { through: 'note' })
  await crew.replay('6b0f0000-0000-8000-a000-000000000000')
  await crew.fork({ from: facts.id, through: note })
  await crew.kickoff({ inputs, through: dynamic, onQuestion: (question) => void question.id })
  const run = crew.run('mine')
  await run.invalidate(dynamic)
  // what is known by its name is typed as the task itself is
  const result = await run.result()
  const byName = result.task('facts').output
  same<typeof byName, { policy: string; since: Date } | undefined>()
  const byText = result.task(dynamic).output
  same<typeof byText, string | { policy: string; since: Date } | undefined>()
  const byId = result.task('6b0f0000-0000-8000-a000-000000000000').output
  same<typeof byId, unknown>()
  const view = await run.view()
  const viewed = view.task('note').output
  same<typeof viewed, string | undefined>()
  const tested = await crew.backtest('facts')
  const since: Date | undefined = tested.cases[0]?.new?.output?.since
  void since
  await run.edit('facts', { policy: 'P-1', since: '2020-01-01' })
  // @ts-expect-error -- since is a string before the transform
  await run.edit('facts', { policy: 'P-1', since: new Date() })
  // @ts-expect-error -- a task of another crew
  await crew.replay(new Task({ name: 'other', description: 'x' }))
  // @ts-expect-error -- misspelt, although it has as many hyphens as an id
  await crew.replay('not-a-name-of-this-crew')
  // @ts-expect-error -- misspelt
  await crew.replay('note', { through: 'fact' })
  // @ts-expect-error -- misspelt
  await crew.resume('mine', { through: 'fact' })
  // @ts-expect-error -- misspelt
  await crew.refresh({ through: 'fact' })
  // @ts-expect-error -- misspelt
  await crew.kickoffForEach([inputs], { through: 'fact' })
  // @ts-expect-error -- misspelt
  await crew.backtest('fact')
  // @ts-expect-error -- misspelt
  await run.replay('fact')
  // @ts-expect-error -- misspelt
  await run.fork({ from: 'fact' })
  // @ts-expect-error -- misspelt
  await run.plan({ from: 'fact' })
  // @ts-expect-error -- misspelt
  await run.resume({ through: 'fact' })
  // @ts-expect-error -- misspelt
  await run.edit('fact', 'x')
  // @ts-expect-error -- misspelt
  view.task('fact')
  // where the names are not known, any is let through
  const loose: Crew = crew
  await loose.replay('anything', { through: 'whatever' })
  const any = (await loose.kickoff()).task('anything').output
  same<typeof any, unknown>()
  const mixed = new Crew({ tasks: [facts, new Task({ description: 'x', agent: clerk })] })
  await mixed.fork({ from: 'x-1234' })
}
export async function many(): Promise<void> {
  const each = await crew.kickoffForEach([inputs, inputs], { concurrency: 2, id: (given, index) => `${index}` })
  for (const result of each) {
    if (result.status === 'completed') same<typeof result.output, string>()
    if (result.status === 'failed') result.error.code satisfies string
    result.raw satisfies string
  }
  // @ts-expect-error -- notes is missing
  await crew.kickoffForEach([{ customer: 'Ada', length: 3 }])
  const tested = await crew.backtest(facts, { runs: 5 })
  const since: Date | undefined = tested.cases[0]?.new?.output?.since
  void since
  // @ts-expect-error -- runs is a number or a list
  await crew.backtest(facts, { runs: 'latest' })
  const { first, tasks } = await crew.run('a').diff('b')
  same<typeof first, string | undefined>()
  void tasks
}

export const heard = new Crew({
  tasks: [facts, note],
  beforeKickoff: (given) => ({ ...given, length: 3 }),
  afterKickoff: (result) => void result.tasks[0].output?.since.getTime(),
  onTask: (output, { runId, seq }) => void `${output.name} ${runId} ${seq}`,
})
new Task({
  description: 'x',
  output: z.object({ sum: z.number() }),
  when: ({ outputs, previous, inputs: given }) => outputs['facts'] === previous && given['a'] === 1,
  callback: ({ output }) => void output?.sum.toFixed(),
})
// @ts-expect-error -- a condition gives true or false
new Task({ description: 'x', when: () => 'yes' })
// @ts-expect-error -- a price needs both
new Crew({ tasks: [facts, note], prices: { 'openai/x': { input: 1 } } })

export async function textsWithoutPlaceholders(): Promise<void> {
  const plain = new Task({ name: 'plain', description: 'Plain', agent: clerk })
  const some = new Crew({ tasks: [facts, plain] })
  // @ts-expect-error -- a task that asks for nothing leaves the others checked
  await some.kickoff({ inputs: { customer: 'Ada', nots: 'x' } })
  await new Crew({ tasks: [plain] }).kickoff()
}

declare const dynamic: string
declare const list: { text: string }[]
export async function looseTexts(): Promise<void> {
  const open = new Task({ name: 'open', description: dynamic, agent: clerk })
  const mixed = new Crew({ tasks: [facts, open] })
  await mixed.kickoff({ inputs: { notes: 'x', customer: 'Ada', whatever: 1 } })
  // @ts-expect-error -- the texts that are known are still checked
  await mixed.kickoff({ inputs: { whatever: 1 } })
  const mapped = new Crew({ tasks: list.map(({ text }) => new Task({ description: text, agent: clerk })) })
  await mapped.kickoff()
  await mapped.kickoff({ inputs: { anything: [1, { deep: true }] } })
  const result = await mapped.kickoff()
  same<typeof result.output, string | undefined>()
  // a template literal: the placeholders in its fixed parts are known, those in its variables are not
  const holes = new Crew({
    tasks: list.map(({ text }) => new Task({ description: `Do {job}: ${text}`, agent: clerk })),
  })
  await holes.kickoff({ inputs: { job: 'x', whatever: 1 } })
  // @ts-expect-error -- job is missing
  await holes.kickoff({ inputs: { whatever: 1 } })
  // braces of JSON and literal ones ask for nothing
  await new Crew({
    tasks: [new Task({ description: 'Use {"a": {"b": 1}} and {{literally}}', agent: clerk })],
  }).kickoff()
}

interface Claim {
  readonly id: string
  readonly amounts: readonly number[]
}
declare const claim: Claim
export async function interfacesAreInputs(): Promise<void> {
  await crew.kickoff({ inputs: { ...inputs, notes: claim } })
}

export const pay = tool({
  name: 'pay',
  description: 'Pay',
  input: z.object({ amount: z.number(), on: z.string().transform((day) => new Date(day)) }),
  run(input, context) {
    same<typeof input, { amount: number; on: Date }>()
    same<typeof context.signal, AbortSignal>()
    return { paid: input.amount }
  },
  settle: (_key, { amount }) => ({ happened: true, result: { paid: amount } }),
})
same<typeof pay, Tool<{ amount: number; on: Date }, { paid: number }>>()
new Agent({ role: 'Payer', goal: 'Pay', tools: [pay] })
// @ts-expect-error -- no such effect
tool({ name: 'x', description: 'x', effect: 'twice', input: z.object({}), run: () => 1 })
// @ts-expect-error -- run is missing
tool({ name: 'x', description: 'x', input: z.object({}) })
// @ts-expect-error -- an option that does not exist
new Agent({ role: 'A', goal: 'g', tols: [] })
// @ts-expect-error -- an option that does not exist
new Task({ description: 'x', expectedOuput: 'y' })
// @ts-expect-error -- an option that does not exist
new Crew({ tasks: [facts], nam: 'x' })
// @ts-expect-error -- a schema is asked for
new Task({ description: 'x', output: { policy: 'string' } })

export async function code(): Promise<void> {
  const fetch = new Task({ name: 'fetch', effect: 'read', run: async () => ({ id: 7 }) })
  const save = new Task({
    name: 'save',
    run: ({ inputs: given, outputs }) => `${Object.keys(given).length} ${Object.keys(outputs).length}`,
  })
  const dated = new Task({ name: 'dated', run: () => new Date() })
  const result = await new Crew({ tasks: [fetch, save, dated] }).kickoff()
  same<(typeof result.tasks)[0], TaskResult<{ id: number }>>()
  same<(typeof result.tasks)[1], TaskResult<string>>()
  // a function may use inputs that no text names, and inputs named in a text are still required
  const both = new Crew({ tasks: [facts, save] })
  await both.kickoff({ inputs: { notes: 'x', customer: 'Ada', account: 7 } })
  // @ts-expect-error -- notes is missing
  await both.kickoff({ inputs: { customer: 'Ada', account: 7 } })
  // a Date is not what comes back
  same<(typeof result.tasks)[2], TaskResult>()
  // @ts-expect-error -- a function needs a name
  new Task({ run: () => 1 })
  // @ts-expect-error -- no such effect
  new Task({ name: 'x', run: () => 1, effect: 'twice' })
}

export function outputsOfTheContext(): void {
  const fetch = new Task({ name: 'fetch', effect: 'read', run: async () => ({ id: 7 }) })
  const maybe = new Task({ name: 'maybe', description: 'x', context: [facts], when: () => true })
  new Task({
    name: 'save',
    context: [facts, note, fetch, maybe],
    run({ outputs }) {
      same<
        typeof outputs,
        {
          readonly facts: { policy: string; since: Date }
          readonly note: string
          readonly fetch: { id: number }
          // a task with a condition may be skipped
          readonly maybe: string | undefined
        }
      >()
      // @ts-expect-error -- not in its context
      return outputs.fact
    },
  })
  new Task({ name: 'alone', context: [], run: ({ outputs }) => same<typeof outputs, {}>() })
  // all earlier tasks, whichever those are
  new Task({ name: 'last', run: ({ outputs }) => same<typeof outputs, { readonly [task: string]: unknown }>() })
  // what a condition sees are the tasks that its task waits for: also others than its context
  new Task({
    description: 'x',
    context: [facts],
    when: ({ outputs }) => outputs.facts.since.getTime() > 0 && outputs['other'] === 1,
  })
  new Task({ name: 'x', run: () => 1, context: [fetch], when: ({ outputs }) => outputs.fetch.id === 7 })
  new Task({
    name: 'inner',
    crew,
    context: [fetch],
    inputs: ({ outputs }) => ({ notes: outputs.fetch.id.toFixed(), customer: 'Ada', length: 3 }),
    callback: ({ output }) => void output?.toUpperCase(),
  })
  // of a list that is made at run time, any may be missing
  new Task({ name: 'x', context: [facts, note].slice(1), run: ({ outputs }) => outputs.facts?.policy })
  // @ts-expect-error -- facts may be missing
  new Task({ name: 'x', context: [facts, note].slice(1), run: ({ outputs }) => outputs.facts.policy })
  const loose = list.map(({ text }) => new Task({ description: text, agent: clerk }))
  new Task({ name: 'x', context: loose, run: ({ outputs }) => outputs['any']?.toUpperCase() })
  // a function that is written for any context fits each
  const count = ({ outputs }: CodeContext): number => Object.keys(outputs).length
  new Task({ name: 'count', context: [facts], run: count })
}

export async function skippedTasks(): Promise<void> {
  const last = new Task({ name: 'last', description: 'x', agent: clerk, context: [note], when: () => false })
  const result = await new Crew({ tasks: [facts, note, last] }).kickoff({ inputs })
  // where it was skipped, that of the task before it
  if (result.status === 'completed') same<typeof result.output, string>()
  const either = await new Crew({ tasks: [facts, last] }).kickoff({ inputs })
  if (either.status === 'completed') same<typeof either.output, string | { policy: string; since: Date }>()
  const alone = await new Crew({ tasks: [last] }).kickoff({ inputs })
  if (alone.status === 'completed') same<typeof alone.output, string | undefined>()
}

export async function inputSchemas(): Promise<void> {
  const schema = z.object({ id: z.string(), amount: z.number(), tone: z.string().default('formal') })
  type Parsed = z.infer<typeof schema>
  const check = new Task({
    name: 'check',
    context: [facts],
    run: ({ inputs: own, outputs }: CodeContext<{ facts: { policy: string } }, Parsed>) =>
      `${outputs.facts.policy} ${own.amount.toFixed()} ${own.tone.toUpperCase()}`,
    when: ({ inputs: own }) => own.amount > 100,
  })
  const short = new Task({ name: 'short', run: ({ inputs: own }: { inputs: { amount: number } }) => own.amount })
  const loose = new Task({ name: 'loose', run: ({ inputs: own }) => own['amount'] })
  const letter = new Task({ name: 'letter', description: 'Answer {id}', agent: clerk })
  const typed = new Crew({ name: 'typed', inputs: schema, tasks: [check, short, loose, letter] })
  await typed.kickoff({ inputs: { id: 'C-1', amount: 3 } })
  await typed.kickoffForEach([{ id: 'C-1', amount: 3, tone: 'friendly' }])
  await typed.replay('short', { inputs: { amount: 4 } })
  await typed.with({ model: 'openai/x' }).kickoff({ inputs: { id: 'C-1', amount: 3 } })
  // @ts-expect-error -- amount is a number
  await typed.kickoff({ inputs: { id: 'C-1', amount: '3' } })
  // @ts-expect-error -- amount is missing
  await typed.enqueue({ inputs: { id: 'C-1' } })
  // @ts-expect-error -- inputs are missing
  await typed.kickoff()
  // @ts-expect-error -- amuont is misspelt
  await typed.fork({ inputs: { amuont: 4 } })
  // @ts-expect-error -- amount is missing
  await typed.schedule({ cron: '@daily', inputs: () => ({ id: 'C-1' }) })
  // @ts-expect-error -- the function needs a schema that gives an amount
  void new Crew({ tasks: [letter, short] })
  // @ts-expect-error -- this one gives a text
  void new Crew({ inputs: z.object({ id: z.string(), amount: z.string() }), tasks: [letter, short] })
  const served: Crew[] = [typed, crew]
  const optional = new Crew({ inputs: z.object({ id: z.string().optional() }), tasks: [loose] })
  await optional.kickoff()
  await optional.kickoff({ inputs: { id: 'C-1' } })
  served.push(optional)
}

export async function crewsAsTasks(): Promise<void> {
  const inner = new Crew({ tasks: [facts] })
  const passed = new Crew({ tasks: [new Task({ name: 'inner', crew: inner }), note] })
  const result = await passed.kickoff({ inputs })
  same<(typeof result.tasks)[0], TaskResult<{ policy: string; since: Date }>>()
  // @ts-expect-error -- notes, which the inner crew uses, is missing
  await passed.kickoff({ inputs: { length: 3 } })
  const own = new Crew({
    tasks: [new Task({ name: 'inner', crew: inner, inputs: { notes: 'x', customer: 'y' } }), note],
  })
  await own.kickoff({ inputs: { length: 3 } })
  const made = new Crew({
    tasks: [
      new Task({
        name: 'inner',
        crew: inner,
        inputs: async ({ inputs: given, outputs }) => ({ notes: given['notes'] ?? '', customer: outputs['x'] ?? '' }),
      }),
      note,
    ],
  })
  await made.kickoff({ inputs: { length: 3 } })
  // @ts-expect-error -- a function gives an object
  new Task({ name: 'inner', crew: inner, inputs: () => 'x' })
  const counted = new Task({
    name: 'counted',
    crew: inner,
    output: z.object({ policy: z.string().transform((policy) => policy.length) }),
    callback: ({ output: of }) => same<typeof of, { policy: number } | undefined>(),
  })
  const counting = new Crew({ tasks: [counted] })
  const { tasks } = await counting.kickoff({ inputs: { notes: 'x', customer: 'Ada' } })
  same<(typeof tasks)[0], TaskResult<{ policy: number }>>()
  await counting.fork({ outputs: { counted: { policy: 'x' } } })
  // @ts-expect-error -- as it is written before the schema's transform
  await counting.fork({ outputs: { counted: { policy: 1 } } })
}

export async function agentsOfTheCrew(): Promise<void> {
  const agent = new Agent({ role: '{topic} expert', goal: 'Know' })
  const task = new Task({ name: 'note', description: 'Note {length}' })
  // whose texts are used is not known to a task that names no agent: what they need can be given
  await new Crew({ agents: [agent], tasks: [task] }).kickoff({ inputs: { length: 3, topic: 'fire' } })
  const managed = new Crew({ agents: [agent], tasks: [task], process: 'hierarchical', manager: 'openai/gpt-5' })
  await managed.kickoff({ inputs: { length: 3, topic: 'fire' } })
  // @ts-expect-error -- length, which the task uses, is missing
  await managed.kickoff({ inputs: { topic: 'fire' } })
}

export async function agentKickoffs(any: Agent): Promise<void> {
  const output = z.object({ policy: z.string(), since: z.string().transform((day) => new Date(day)) })
  const text = await clerk.kickoff('Why?')
  if (text.status === 'completed') same<typeof text.output, string>()
  const typed = await analyst.kickoff('Why?', { output, inputs: { customer: 'Ada' }, onQuestion: ({ id }) => void id })
  if (typed.status === 'completed') same<typeof typed.output, { policy: string; since: Date }>()
  const loose = await any.kickoff('Why?', { inputs: { customer: 'Ada' }, tools: [], id: 'mine', budget: { tokens: 9 } })
  if (loose.status === 'completed') same<typeof loose.output, string>()
  const prompted = new Agent({ role: 'A', goal: 'Answer {prompt}' })
  await prompted.kickoff('Why?')
  const run = await clerk.kickoff('Why?', { output }).started
  await run.edit('answer', { policy: 'P-1', since: '2020-01-01' })
  // @ts-expect-error -- since is a string before the transform
  await run.edit('answer', { policy: 'P-1', since: new Date() })
  // @ts-expect-error -- there is no prompt
  await clerk.kickoff()
  // @ts-expect-error -- the prompt is a string
  await clerk.kickoff({ prompt: 'Why?' })
  // @ts-expect-error -- inputs are missing
  await analyst.kickoff('Why?')
  // @ts-expect-error -- inputs are missing
  await analyst.kickoff('Why?', { output })
  // @ts-expect-error -- customer is misspelt
  await analyst.kickoff('Why?', { inputs: { custmer: 'Ada' } })
  // @ts-expect-error -- an option that does not exist
  await clerk.kickoff('Why?', { trough: 'answer' })
  // @ts-expect-error -- not a schema
  await clerk.kickoff('Why?', { output: 'text' })
}

export async function tasksForEachItem(): Promise<void> {
  const chapters = z.array(z.object({ id: z.string(), title: z.string() }))
  const outline = new Task({ name: 'outline', description: 'Outline {topic}', agent: clerk, output: chapters })
  const output = z.object({ day: z.string().transform((day) => new Date(day)) })
  const chapter = new Task({
    name: 'chapter',
    description: 'Write {item.title} of {item} for {reader}',
    agent: clerk,
    context: [outline],
    forEach: ({ outputs }) => outputs.outline,
    key: (item) => item.id,
    output,
    callback: ({ output: of }) => same<typeof of, { day: Date } | undefined>(),
  })
  const counted = new Task({
    name: 'counted',
    context: [chapter],
    forEach: async ({ outputs }) => outputs.chapter.map(({ day }) => day.getTime()),
    run: ({ item }) => {
      same<typeof item, number>()
      return { item }
    },
  })
  const inner = new Crew({ tasks: [new Task({ name: 'inner', description: 'Inner {title}', agent: clerk })] })
  const nested = new Task({
    name: 'nested',
    crew: inner,
    context: [outline],
    forEach: ({ outputs }) => outputs.outline,
    key: ({ id }) => id,
    inputs: ({ item }) => ({ title: item.title }),
  })
  const plain = new Task({ name: 'plain', description: 'Plain', agent: clerk, context: [chapter] })
  const book = new Crew({ tasks: [outline, chapter, counted, nested, plain] })
  const result = await book.kickoff({ inputs: { topic: 'x', reader: 'y' } })
  same<(typeof result.tasks)[1], TaskResult<readonly { day: Date }[]>>()
  same<(typeof result.tasks)[2], TaskResult<readonly { item: number }[]>>()
  same<(typeof result.tasks)[3], TaskResult<readonly string[]>>()
  const first = result.task('chapter').items?.[0]
  same<NonNullable<typeof first>['output'], { day: Date } | undefined>()
  const one = result.task('chapter[c1]')
  same<typeof one.output, { day: Date } | undefined>()
  await book.run('r').edit('chapter[c1]', { day: '2020-01-01' })
  await book.run('r').edit('chapter', [{ day: '2020-01-01' }])
  await book.fork({ outputs: { 'chapter[c1]': { day: '2020-01-01' } } })
  await book.replay('nested[c1]')
  // @ts-expect-error -- the item is as its schema takes it
  await book.run('r').edit('chapter[c1]', { day: new Date() })
  // @ts-expect-error -- the task gives a list
  await book.run('r').edit('chapter', { day: '2020-01-01' })
  // @ts-expect-error -- there is no such task
  await book.replay('chaptr[c1]')
  // @ts-expect-error -- reader is an input, other than the item
  await book.kickoff({ inputs: { topic: 'x' } })
  // @ts-expect-error -- the item has no such member
  new Task({ name: 'x', context: [outline], forEach: ({ outputs }) => outputs.outline, run: ({ item }) => item.titel })
  // @ts-expect-error -- not a list
  new Task({ name: 'x', forEach: () => 3, run: () => 'x' })
  // @ts-expect-error -- there is no item without forEach
  new Task({ name: 'x', run: ({ item }) => item })
  // @ts-expect-error -- only a task with a crew has inputs
  new Task({ name: 'x', description: 'x', agent: clerk, inputs: {} })
}
