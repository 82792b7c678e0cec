// The tool calls of one reply. All of them run at once; each is journaled under its own path before and after its effect, and
// its outcome enters the conversation in the order in which the model asked. What is left undecided waits for a person.
import { RepriseError } from '../errors.ts'
import type { NewEntry } from '../journal/entries.ts'
import { digest } from '../journal/hash.ts'
import type { Json } from '../journal/json.ts'
import type { AttemptState, CallState, ToolOutcome, TurnState } from '../journal/state.ts'
import type { Tool } from '../tools/tool.ts'
import type { ExecuteOptions, TaskDefinition } from './definition.ts'
import type { Hold } from './hold.ts'
import { drainInbox, post } from './inbox.ts'
import { decideOnce, occurrenceOf, type Decision } from './once.ts'
import { checkAnswer } from './questions.ts'
import { runTool, toOutcome } from './run-tool.ts'

/** Thrown when a person's answer fails the task. */
export class AnsweredFail extends Error {}

/** Gives every call of the turn its outcome; false when some wait for an answer that is not there. */
export async function settleCalls(
  hold: Hold,
  task: TaskDefinition,
  attempt: AttemptState,
  turn: TurnState,
  options: ExecuteOptions,
  signal: AbortSignal,
): Promise<boolean> {
  const keys = new Map<string, string>()
  const prepared = await Promise.all(turn.calls.map((call) => prepare(task, call)))
  turn.calls.forEach((call, index) => keys.set(call.path, prepared[index]?.key ?? ''))
  for (;;) {
    const open = turn.calls
      .map((call, index) => ({ call, ...(prepared[index] as Prepared) }))
      .filter(({ call }) => !call.outcome)
    if (open.length === 0) return true
    const advanced = await Promise.allSettled(
      open.map((item) => advance({ hold, task, attempt, options, signal, keys, ...item })),
    )
    for (const result of advanced) if (result.status === 'rejected') throw result.reason
    if (turn.calls.every((call) => call.outcome)) return true
    if (!(await drainInbox(hold, { edits: false }))) return false
  }
}

type Prepared = { readonly key: string; readonly input: Json } & (
  | { readonly tool: Tool; readonly parsed: unknown }
  | { readonly refusal: string }
)

/** The tool, the input as its schema gives it, and the key; or the sentence for the model that says why not. */
async function prepare(task: TaskDefinition, call: CallState, changed?: Json): Promise<Prepared> {
  const { request } = call
  const input = changed ?? call.input ?? request.input
  const bare = { key: call.key ?? digest(input), input }
  if (request.invalid !== undefined) return { ...bare, refusal: request.invalid }
  const tool = task.tools.find((candidate) => candidate.name === request.tool)
  if (!tool) {
    const there = task.tools.map((candidate) => candidate.name).join(', ')
    return { ...bare, refusal: `there is no tool ${request.tool}; there ${there === '' ? 'are none' : `is ${there}`}` }
  }
  const parsed = await tool.schema.parse(input)
  if (!parsed.ok) return { ...bare, refusal: `the input of ${tool.name} is not valid: ${parsed.reason}` }
  const key = call.key ?? tool.key(parsed.value as never) ?? digest(input)
  return { key, input, tool, parsed: parsed.value }
}

type Advance = Prepared & {
  readonly hold: Hold
  readonly task: TaskDefinition
  readonly attempt: AttemptState
  readonly call: CallState
  readonly options: ExecuteOptions
  readonly signal: AbortSignal
  readonly keys: ReadonlyMap<string, string>
}

async function advance(item: Advance): Promise<void> {
  const { hold, call, key, attempt } = item
  if ('refusal' in item) return give(item, { error: item.refusal })
  const occurrence = occurrenceOf(attempt, call, key, item.keys)
  const { state } = hold
  const decide = (settles: boolean): Decision =>
    item.tool.effect === 'once'
      ? decideOnce(state, attempt, call, { task: item.task.name, key, occurrence, input: item.input, settles })
      : { act: 'call' }
  let decision = decide(item.tool.settles)
  if (decision.act === 'settle') {
    const settled = await settle(item, occurrence)
    if (settled === 'done') return
    decision =
      settled === 'not happened' ? { act: 'call', allowedBy: 'settle' } : { act: 'ask', question: decision.question }
  }
  if (decision.act === 'ask') {
    await ask(hold, decision, item.options)
    decision = decide(false)
  }
  switch (decision.act) {
    case 'call':
      return makeCall(item, occurrence, decision)
    case 'return': {
      const by = decision.by === undefined ? {} : { by: decision.by }
      return give(item, decision.outcome, { source: decision.source, ...by })
    }
    case 'fail':
      throw new AnsweredFail(decision.reason)
    case 'wait':
    case 'ask':
    case 'settle':
      return
  }
}

async function makeCall(
  item: Advance & { tool: Tool; parsed: unknown },
  occurrence: number,
  { input, allowedBy }: { input?: Json; allowedBy?: string },
): Promise<void> {
  const { hold, call, tool, task, key } = item
  let { parsed } = item
  if (input !== undefined) {
    const changed = await prepare(task, call, input)
    if ('refusal' in changed) return give(item, { error: changed.refusal })
    parsed = changed.parsed
  }
  await hold.ready()
  const extra = { ...(input === undefined ? {} : { input }), ...(allowedBy === undefined ? {} : { allowedBy }) }
  await hold.append([{ type: 'tool.called', path: call.path, tool: tool.name, effect: tool.effect, key, ...extra }])
  await hold.ready()
  const idempotencyKey = idempotencyKeyOf(item, occurrence)
  const ended = await runTool(tool, parsed, {
    idempotencyKey,
    signal: item.signal,
    run: hold.state.run,
    task: task.name,
  })
  if ('abandoned' in ended) {
    if (tool.effect !== 'once' && !item.signal.aborted) return give(item, { error: ended.abandoned })
    await hold.append([{ type: 'tool.abandoned', path: call.path, reason: ended.abandoned }])
    if (item.signal.aborted) throw item.signal.reason
    // timed out: in doubt at once, with the tool's own settle or a question
    return advance(item)
  }
  return give(item, ended)
}

async function settle(
  item: Advance & { tool: Tool; parsed: unknown },
  occurrence: number,
): Promise<'done' | 'not happened' | 'cannot tell'> {
  await item.hold.ready()
  let settlement
  try {
    settlement = await item.tool.settle(idempotencyKeyOf(item, occurrence), item.parsed as never)
  } catch {
    return 'cannot tell'
  }
  if (!settlement) return 'cannot tell'
  if (!settlement.happened) return 'not happened'
  await give(item, toOutcome(settlement.result, item.tool.name), { source: 'settled' })
  return 'done'
}

/** Asks, and takes the answer at once when the caller answers inline. The first answer counts, wherever it comes from. */
async function ask(
  hold: Hold,
  { question }: Extract<Decision, { act: 'ask' }>,
  { onQuestion }: ExecuteOptions,
): Promise<void> {
  const asked = { ...question, id: hold.questionId() }
  await hold.append([{ type: 'question.asked', path: asked.path, question: asked }])
  const answer = await onQuestion?.(asked)
  if (answer === undefined) return
  const message = { kind: 'answer', question: asked.id, answer: checkAnswer(asked, answer) } as const
  await post(hold.engine, hold.state.run, message).catch((error: unknown) => {
    if (!RepriseError.isInstance(error) || error.code !== 'QUESTION_ANSWERED') throw error
  })
  await drainInbox(hold, { edits: false })
}

async function give(
  { hold, call, key }: Advance,
  outcome: ToolOutcome,
  source: { readonly source?: 'recorded' | 'settled' | 'answered'; readonly by?: string } = {},
): Promise<void> {
  const entry: NewEntry = {
    type: 'tool.returned',
    path: call.path,
    outcome,
    ...source,
    ...(call.key === undefined ? { key } : {}),
  }
  await hold.append([entry])
}

function idempotencyKeyOf({ hold, task, call, key }: Advance, occurrence: number): string {
  return digest([hold.state.run, task.name, call.request.tool, key, occurrence])
}
