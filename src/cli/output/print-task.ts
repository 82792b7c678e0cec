// One task of a run in full, as a JSON record and as printed text: its description, every attempt with its model calls
// and tool calls, and its output.
import type {
  ToolOutcome,
  AttemptState,
  CallState,
  RunState,
  SentRequest,
  TaskState,
  TurnState,
} from '../../journal/state/state.ts'
import { statusFormat } from './run-words.ts'
import type { Channel, Piece } from './terminal.ts'
import { clock, duration, longTime, usageWords } from '../../text/words.ts'
import { printProviderPart, sentWords } from './print-parts.ts'
import { printBlock, printStack, readable } from './print-block.ts'
import { defined } from '../../base/options.ts'
import type { EntryOf } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { TaskView } from '../../runs/task-view.ts'

export function printWholeTask(channel: Channel, task: WholeTask): void {
  const field = (name: string, ...pieces: Piece[]): void =>
    channel.line({ text: name.padEnd(10), format: 'dim' }, ...pieces)
  field('task', { text: task.name, format: 'bold' })
  if (!task.step) field('id', task.id)
  field('run', task.runId)
  field('status', { text: task.status, format: statusFormat(task.status) })
  if (task.agent !== undefined) field('agent', task.agent)
  if (task.from !== undefined) field('from', `run ${task.from}`)
  if (task.startedAt !== undefined) field('started', longTime(task.startedAt))
  if (task.completedAt !== undefined) field('completed', longTime(task.completedAt))
  if (!task.step || task.usage.calls > 0) field('spent', usageWords(task.usage))
  if (task.step?.after !== undefined) field('after', task.step.after)
  if (task.step?.until !== undefined) field('until', longTime(task.step.until))
  if (task.stale) field('stale', { text: task.stale.join('; '), format: 'yellow' })
  if (task.error) field('error', { text: `${task.error.code}: ${task.error.message}`, format: 'red' })
  if (task.error?.stack !== undefined) printStack(channel, ' '.repeat(10), task.error.stack)
  if (!task.step) section(channel, 'description', task.description)
  if (task.expectedOutput !== undefined) section(channel, 'expected output', task.expectedOutput)
  for (const attempt of task.history) printAttempt(channel, attempt)
  if (task.completedAt !== undefined)
    section(channel, 'output', typeof task.output === 'string' ? task.output : JSON.stringify(task.output, null, 2))
}

function section(channel: Channel, title: string, text: string): void {
  channel.line()
  channel.line({ text: title, format: 'bold' })
  printBlock(channel, '', text)
}

function printAttempt(channel: Channel, attempt: AttemptRecord): void {
  const { path, status, agent, startedAt, request, child, turns } = attempt
  channel.line()
  const facts = [agent, request?.model, `since ${clock(startedAt)}`].filter(Boolean)
  channel.line(
    { text: `attempt ${path}`, format: 'bold' },
    '  ',
    { text: status, format: statusFormat(status) },
    `  ${facts.join(' · ')}`,
  )
  if (attempt.carries)
    channel.line(`  continues from ${attempt.carries.path} with the message: ${attempt.carries.message}`)
  if (request && request.tools.length > 0) channel.line(`  tools ${request.tools.map(({ name }) => name).join(', ')}`)
  if (child !== undefined) channel.line(`  executed by run ${child}`)
  for (const turn of turns) printTurn(channel, turn)
  if (attempt.refusal !== undefined) {
    const by = attempt.refusedBy === undefined ? '' : ` by ${attempt.refusedBy}`
    channel.line({ text: `  ${status === 'failed' ? 'failed' : `refused${by}`}: ${attempt.refusal}`, format: 'red' })
  }
}

function printTurn(
  channel: Channel,
  { path, startedAt, repliedAt, usage, finish, tries, parts, calls }: TurnRecord,
): void {
  if (startedAt !== undefined && repliedAt !== undefined && usage) {
    const took = duration(Date.parse(repliedAt) - Date.parse(startedAt))
    channel.line({ text: `  model ${path}`, format: 'cyan' }, `  ${usageWords(usage)}, ${took}, ${finish}`)
  }
  for (const { at, error } of tries ?? [])
    channel.line({ text: `  try at ${clock(at)} failed: ${error}`, format: 'yellow' })
  for (const part of parts ?? []) {
    if (part.type === 'reasoning' && part.text !== '') printBlock(channel, '  ', part.text, 'dim')
    if (part.type === 'text') printBlock(channel, '  ', part.text)
    printProviderPart(channel, part)
  }
  for (const call of calls) printCall(channel, call)
}

function printCall(
  channel: Channel,
  { path, tool, input, effect, calledAt, times, outcome, source, abandoned, stack }: CallRecord,
): void {
  const facts = [
    effect,
    calledAt === undefined ? undefined : `at ${clock(calledAt)}`,
    times > 1 ? `started ${times} times` : undefined,
    source,
    abandoned === undefined ? undefined : `abandoned: ${abandoned}`,
  ].filter((fact) => fact !== undefined)
  channel.line(
    { text: `  call ${path}`, format: 'cyan' },
    `  ${tool}${facts.length > 0 ? `  ${facts.join(' · ')}` : ''}`,
  )
  printBlock(channel, '    ', readable(input))
  if (outcome) printOutcome(channel, '    ', outcome)
  else channel.line({ text: '    no result', format: 'yellow' })
  if (stack !== undefined) printStack(channel, '    │ ', stack)
}

export function printOutcome(channel: Channel, indent: string, outcome: ToolOutcome): void {
  if ('result' in outcome) {
    channel.line({ text: `${indent}returned`, format: 'dim' })
    printBlock(channel, indent, readable(outcome.result))
  } else {
    const [[what, why] = ['', '']] = Object.entries(outcome) as [string, string][]
    channel.line({ text: `${indent}${what}`, format: 'red' })
    printBlock(channel, indent, why)
  }
  if ('sent' in outcome && outcome.sent) {
    channel.line({ text: `${indent}the model was sent`, format: 'dim' })
    printBlock(channel, indent, sentWords(outcome.sent))
  }
}

export interface WholeTask extends TaskView {
  readonly runId: string
  readonly history: readonly AttemptRecord[]
}

type AttemptField = 'path' | 'status' | 'startedAt' | 'carries' | 'refusal' | 'refusedBy' | 'child'

interface AttemptRecord extends Pick<AttemptState, AttemptField> {
  readonly agent?: string
  /** Absent for a function or crew task, which calls no model itself. */
  readonly request?: SentRequest
  readonly turns: readonly TurnRecord[]
}

type ReplyField = 'startedAt' | 'model' | 'usage' | 'finish' | 'tries' | 'parts'

/** The turns of function tasks have none of the reply's fields. */
interface TurnRecord extends Partial<Pick<EntryOf<'model.replied'>, ReplyField>> {
  readonly path: string
  readonly repliedAt?: string
  readonly calls: readonly CallRecord[]
}

type CallField = 'path' | 'effect' | 'calledAt' | 'times' | 'outcome' | 'source' | 'abandoned' | 'stack'

interface CallRecord extends Pick<CallState, CallField> {
  readonly tool: string
  readonly input: Json
}

export function wholeTask(state: RunState, task: TaskState, view: TaskView): WholeTask {
  const attempts = [...task.attempts, ...task.nested].flatMap((path) => state.attempts.get(path) ?? [])
  // in the order of their starts: nested attempts come after the attempt that contains them
  const history = attempts.toSorted((a, b) => a.seq - b.seq).map(attemptRecord)
  return { runId: state.run, ...view, history }
}

function attemptRecord({ turns, ...attempt }: AttemptState): AttemptRecord {
  const { path, status, startedAt, carries, refusal, refusedBy, child } = attempt
  const callsModel = attempt.request.model !== ''
  const agent = attempt.agent === '' ? undefined : attempt.agent
  const request = callsModel ? attempt.request : undefined
  const fields = defined({ path, status, agent, startedAt, carries, refusal, refusedBy, child, request })
  return { ...fields, turns: turns.map((turn) => turnRecord(turn, callsModel)) }
}

function turnRecord({ path, reply, calls }: TurnState, callsModel: boolean): TurnRecord {
  const { startedAt, at: repliedAt, model, usage, finish, tries, parts } = reply
  const fields = callsModel ? defined({ startedAt, repliedAt, model, usage, finish, tries, parts }) : {}
  return { path, ...fields, calls: calls.map(callRecord) }
}

function callRecord(call: CallState): CallRecord {
  const { path, request, input = request.input, effect, calledAt, times, outcome, source, abandoned, stack } = call
  return { path, tool: request.tool, input, times, ...defined({ effect, calledAt, outcome, source, abandoned, stack }) }
}
