// The crews of the crash tests by name: the claims crew, and one for each feature. All user code (tools, guardrails,
// conditions, callbacks) leaves a line in a file when it runs. `decide` answers the questions of a crew.
import { Agent, Crew, tool, type Answer, type Guardrail, type Question, Task } from 'reprise'
import { mcpTools } from 'reprise/mcp'
import { z } from 'zod'
import { functionOf, measure, runIn, taskOf, worker } from './crew-parts.ts'
import { crew as claims } from './crew.ts'
import { bigFlow } from './big-flow.ts'
import { effects, leaveTrace } from './effects.ts'
import { files, limits, long, nested, searching, served, servedByHttp, spoken } from './wider-crews.ts'
import type { StdioServer } from '../../src/tools/mcp/mcp-server.ts'

/** A diamond with three tasks in the middle, two at a time. */
function parallel(): Crew {
  const a = taskOf('a', 'Plain', { context: [] })
  const b = taskOf('b', 'Measure', { context: [a], tools: [measure] })
  const c = taskOf('c', 'Plain', { context: [a] })
  const d = taskOf('d', 'Plain', { context: [a] })
  const e = taskOf('e', 'Plain', { context: [b, c, d] })
  return new Crew({ name: 'parallel', tasks: [a, b, c, d, e], process: 'parallel', concurrency: 2 })
}

function besides(): Crew {
  const slow = taskOf('slow', 'Measure', { async: true, tools: [measure] })
  const beside = taskOf('beside', 'Plain', { context: [] })
  return new Crew({ name: 'besides', tasks: [slow, beside, taskOf('last', 'Plain')] })
}

/** A model with a tool, and a function, for each item of a list. */
function lists(): Crew {
  const rooms = new Task({ name: 'rooms', effect: 'read', run: () => ['hall', 'loft'] })
  const sized = new Task({
    name: 'sized',
    description: 'Measure as {item} for {notes}',
    agent: worker,
    context: [rooms],
    forEach: ({ outputs }) => outputs.rooms,
    tools: [measure],
  })
  const keep = new Task({
    name: 'keep',
    context: [sized],
    forEach: ({ outputs }) => outputs.sized.map((_, index) => `room ${index}`),
    run({ runId: run, task, item }) {
      leaveTrace(run, `${task} of ${item}`)
      return 'done'
    },
  })
  return new Crew({ name: 'lists', tasks: [rooms, sized, keep], concurrency: 2 })
}

function conditional(): Crew {
  const amount = taskOf('amount', 'Amount', { output: z.object({ amount: z.number() }) })
  const over = (task: string, limit: number): Task =>
    taskOf(task, 'Plain', {
      when: ({ inputs, outputs }) => {
        leaveTrace(runIn(inputs), `when ${task}`)
        return (outputs['amount'] as { amount: number }).amount > limit
      },
    })
  return new Crew({
    name: 'conditional',
    tasks: [amount, over('large', 100), over('small', 5), taskOf('note', 'Plain')],
  })
}

/** The first answer is refused by the function, the second one by the model. */
function guarded(): Crew {
  const notRough: Guardrail = function notRough({ raw, inputs }) {
    leaveTrace(runIn(inputs), `notRough judged ${raw}`)
    return raw === 'rough' ? 'it is rough' : true
  }
  return new Crew({ name: 'guarded', tasks: [taskOf('note', 'Draft', { guardrails: [notRough, 'It is no draft'] })] })
}

function people(): Crew {
  const fits: Guardrail = function fits({ raw, inputs }) {
    leaveTrace(runIn(inputs), `fits judged ${raw}`)
    return true
  }
  const note = taskOf('note', 'Plain', { humanInput: true, guardrails: fits })
  return new Crew({ name: 'people', tasks: [note, taskOf('letter', 'Plain', { humanInput: true })] })
}

const payment = (name: string, effect: 'once' | 'idempotent') =>
  tool({
    name,
    description: 'Pay',
    effect,
    approval: true,
    input: z.object({ amount: z.number() }),
    run({ amount }, { runId: run, task }) {
      leaveTrace(run, `${name} of ${task}`)
      return `paid ${amount}`
    },
  })

function approval(): Crew {
  const tools = [payment('pay', 'once'), payment('tip', 'idempotent'), payment('book', 'idempotent')]
  const bill = taskOf('bill', 'Settle the bill', { tools })
  return new Crew({ name: 'approval', tasks: [bill] })
}

/** A manager delegates work to an agent that measures, and also asks it a question. */
function delegating(): Crew {
  const helper = new Agent({ role: 'Helper', goal: 'Help with {notes}', maxRetries: 0, tools: [measure] })
  const manager = new Agent({ role: 'Manager', goal: 'Manage', maxRetries: 0 })
  const task = taskOf('manage', 'Manage', { agent: helper })
  return new Crew({ name: 'delegating', agents: [helper], tasks: [task], process: 'hierarchical', manager })
}

function functions(): Crew {
  return new Crew({
    name: 'functions',
    tasks: [functionOf('load', 'loaded', 'read'), taskOf('note', 'Plain'), functionOf('save', 'saved', 'once')],
  })
}

function callbacks(): Crew {
  return new Crew({
    name: 'callbacks',
    tasks: [taskOf('first', 'Plain'), taskOf('second', 'Measure', { tools: [measure] })],
    beforeKickoff(inputs) {
      leaveTrace(runIn(inputs), 'before')
      return { notes: `${inputs['notes'] as string} made` }
    },
    onTask: ({ name }, { runId }) => leaveTrace(runId, `callback for ${name}`),
    onStep: ({ path }, { runId }) => leaveTrace(runId, `callback for ${path}`),
    afterKickoff: ({ runId }) => leaveTrace(runId, 'after'),
  })
}

/** Three tasks that need approval, each with a task after it; `slow` keeps the run active meanwhile. */
function questions(): Crew {
  const asking = ['a', 'b', 'c'].map((name) => taskOf(name, 'Plain', { context: [], humanInput: true }))
  const following = asking.map((task) => taskOf(`${task.name}-next`, 'Follow', { context: [task] }))
  const slow = taskOf('slow', 'Slow', { context: [] })
  return new Crew({ name: 'questions', tasks: [...asking, ...following, slow], process: 'parallel', concurrency: 9 })
}

/** Two tasks wait for the model and one is inside a tool until the run is stopped. */
function busy(): Crew {
  const hang = tool({
    name: 'wait',
    description: 'Wait',
    effect: 'once',
    input: z.object({}),
    async run(_, { runId: run, signal }) {
      leaveTrace(run, 'wait begun')
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      leaveTrace(run, 'wait stopped')
      throw signal.reason
    },
  })
  const tasks = [
    taskOf('x', 'Slow', { context: [] }),
    taskOf('y', 'Slow', { context: [] }),
    taskOf('z', 'Wait', { context: [], tools: [hang] }),
  ]
  return new Crew({ name: 'busy', tasks, process: 'parallel' })
}

/** A tool of an MCP server over stdio that never ends, beside another task. */
async function mcp(_: string, stack: AsyncDisposableStack): Promise<Crew> {
  const { tools } = stack.use(await mcpTools(JSON.parse(process.env['MCP_SERVER'] ?? '') as StdioServer))
  const tasks = [taskOf('wait', 'Wait', { context: [], tools }), taskOf('slow', 'Slow', { context: [] })]
  return new Crew({ name: 'mcp', tasks, process: 'parallel' })
}

/** Makes the crew for a run. What it opens, apart from its store, is put on the stack. */
type MakeCrew = (run: string, stack: AsyncDisposableStack) => Crew | Promise<Crew>

export const crews: { readonly [name: string]: MakeCrew } = {
  claims: () => claims,
  parallel,
  besides,
  lists,
  conditional,
  guarded,
  people,
  approval,
  callbacks,
  delegating,
  functions,
  nested,
  files,
  limits,
  long,
  served,
  servedByHttp,
  spoken,
  searching,
  questions,
  busy,
  mcp,
  flow: () => bigFlow(),
}

/** A person's answer: about a call in doubt, the ledger decides; otherwise the place of the question does. */
export function decide(question: Question, run: string): Answer {
  if (question.kind === 'doubt') {
    const happened = effects(run).some((line) => line.startsWith(`${question.tool} `))
    return happened ? { decision: 'happened', result: said[question.tool] ?? 'done' } : { decision: 'run' }
  }
  if (question.kind === 'limit') return { decision: 'raise', to: { tokens: 1000 } }
  const answer = answers[`${question.path} ${question.kind === 'call' ? question.tool : ''}`.trim()]
  if (!answer) throw new Error(`no answer for ${question.text}`)
  return answer
}

const said: { readonly [tool: string]: string } = {
  notify: 'sent',
  pay: 'paid 5',
  save: 'saved',
  send: 'send: send of post',
}
const answers: { readonly [place: string]: Answer } = {
  'note#1': { decision: 'revise', feedback: 'plainer' },
  'note#2': { decision: 'approve' },
  'research#1/find#1': { decision: 'approve' },
  'letter#1': { decision: 'replace', output: 'my own letter' },
  'bill#1/1.0 pay': { decision: 'approve', input: { amount: 5 } },
  'bill#1/1.1 tip': { decision: 'deny', reason: 'no tips' },
  'bill#1/1.2 book': { decision: 'approve' },
}
