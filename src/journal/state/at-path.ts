// Finds the task, attempt, turn or call that an entry's path names. If a person removed the entry that created it, a
// stand-in is created, so that no later entry is lost: above all a call that must not be made twice.
import type { EntryOf, Envelope, Owner, PinnedRequest, StoredOutput, OutputReference, PinnedText } from '../entries.ts'
import {
  functionCallPath,
  isNestedAttempt,
  parentPath,
  rootAttempt,
  taskInPath,
  taskOfItem,
  turnPath,
  childRunId,
} from '../paths.ts'
import { returnedCall } from '../call-entries.ts'
import {
  noUsage,
  type AttemptState,
  type CallState,
  type RunState,
  type SentRequest,
  type TaskState,
  type TurnState,
} from './state.ts'

/** The request of an attempt that calls no model or whose start was removed by hand. */
const noRequest: SentRequest = { instructions: '', message: '', tools: [], model: '', settings: {} }

/** The only turn of a function task, with one call: the function itself. No model is called. */
function functionTurn(
  attempt: string,
  { v, seq, at, token, prev, call, input }: EntryOf<'task.started'>,
  { inputs, owner }: Pick<RunState, 'inputs' | 'owner'>,
): TurnState {
  const path = turnPath(attempt, 1)
  const request = { type: 'call', id: '', tool: taskInPath(attempt), input: input ?? inputs } as const
  const envelope = { v, seq, at, token, prev, type: 'model.replied', path } as const
  const reply = { ...envelope, startedAt: at, parts: [request], usage: noUsage, finish: 'code' }
  const functionCall: CallState = { path: functionCallPath(attempt), request, times: 0, questions: [] }
  if (call) startCall(functionCall, call, { at, owner })
  return { path, reply, calls: [functionCall] }
}

/** Notes that a call was started, perhaps once more. */
export function startCall(
  call: CallState,
  { effect, key, idempotencyKey }: NonNullable<EntryOf<'task.started'>['call']>,
  { at, owner }: { readonly at: string; readonly owner: Owner },
): void {
  Object.assign(call, { effect, key, idempotencyKey, calledAt: at, calledBy: owner, times: call.times + 1 })
}

/** Treats a call as `once` if it returned, but the entry that started it was removed by hand: it may have been one. */
export function assumeOnce(call: CallState, { at, owner }: { readonly at: string; readonly owner: Owner }): void {
  if (call.calledAt === undefined) Object.assign(call, { effect: 'once', calledAt: at, calledBy: owner })
}

/** Notes the result of a function from the entry that completes its task. Returns false for a broken result. */
export function recordFunctionResult(state: RunState, entry: EntryOf<'task.completed'>): boolean {
  const returned = returnedCall(entry)
  if (!returned) return false
  const { path, outcome } = returned
  const call = callAt(state, path) ?? addOrphanCall(state, { ...entry, path, tool: taskInPath(path) })
  assumeOnce(call, { at: entry.at, owner: state.owner })
  call.outcome = outcome
  addUncounted(attemptAt(state, { ...entry, path: parentPath(path) }), entry)
  state.lastStep = entry.seq
  return true
}

export function addUncounted(
  attempt: AttemptState | undefined,
  { uncounted }: { readonly uncounted?: readonly string[] },
): void {
  if (attempt && uncounted) (attempt.uncounted ??= []).push(...uncounted)
}

/** The attempt of a turn. If its start was removed by hand, adds an attempt that is given up, but keeps its turns. */
export function attemptAt(state: RunState, { path = '', seq, at }: Envelope): AttemptState {
  const attemptPath = parentPath(path)
  let attempt = state.attempts.get(attemptPath)
  if (!attempt) {
    attempt = {
      path: attemptPath,
      task: taskNameAt(state, attemptPath),
      seq,
      pinned: undefined,
      request: noRequest,
      fingerprint: {},
      agent: '',
      startedAt: at,
      status: 'void',
      accepted: [],
      turns: [],
      lost: [],
    }
    state.attempts.set(attemptPath, attempt)
    const task = taskAt(state, attemptPath)
    const list = isNestedAttempt(attemptPath) ? task.nested : task.attempts
    list.push(attemptPath)
  }
  return attempt
}

/** Adds a call whose turn was removed by hand. */
export function addOrphanCall(
  state: RunState,
  entry: Envelope & Pick<EntryOf<'tool.called'>, 'tool' | 'input'>,
): CallState {
  const path = entry.path ?? ''
  const request = { type: 'call', id: '', tool: entry.tool, input: entry.input ?? null } as const
  const call: CallState = { path, request, times: 0, questions: [] }
  const turn = parentPath(path)
  const reply = {
    ...entry,
    type: 'model.replied',
    path: turn,
    startedAt: entry.at,
    parts: [request],
    usage: noUsage,
    finish: '',
  } as const
  const { turns } = attemptAt(state, reply)
  const beside = turns.findLast((candidate) => candidate.path === turn)
  if (beside) beside.calls.push(call)
  else turns.push({ path: turn, reply, calls: [call] })
  return call
}

/** The current name of a path's task: the attempts of a renamed task keep their paths. */
export function taskNameAt({ attempts }: Pick<RunState, 'attempts'>, path: string): string {
  return attempts.get(rootAttempt(path))?.task ?? taskInPath(path)
}

/**
 * The task of a path. Adds it if it is an item that isn't listed yet, or the entry that declared it was removed by
 * hand.
 */
export function taskAt(state: RunState, path: string | undefined): TaskState {
  const name = taskNameAt(state, path ?? '')
  let task = state.tasks.get(name)
  if (!task) {
    state.tasks.set(name, (task = { name, id: '', description: '', status: 'pending', attempts: [], nested: [] }))
    fileItem(state, task)
  }
  return task
}

/** The items of a task, in the order of its list; empty for a task without `forEach`. */
export function itemsOf({ tasks }: Pick<RunState, 'tasks'>, { items = [] }: Pick<TaskState, 'items'>): TaskState[] {
  return items.flatMap((name) => tasks.get(name) ?? [])
}

/** Adds a task that no entry declared to the items of its list, if its name is that of an item. */
function fileItem(state: RunState, item: TaskState): void {
  const of = state.flow ? undefined : taskOfItem(item.name)
  const list = of === undefined ? undefined : state.tasks.get(of)
  if (!list) return
  Object.assign(item, { of: list.name, description: list.description })
  list.items = [...(list.items ?? []), item.name]
  placeItems(state, list)
}

/** Puts the items of a task right after it. */
export function placeItems(state: RunState, list: TaskState): void {
  const before = state.tasks
  const items = itemsOf(state, list)
  const own = new Set<TaskState>(items)
  state.tasks = new Map()
  for (const [name, task] of before) {
    if (own.has(task)) continue
    state.tasks.set(name, task)
    if (task === list) for (const item of items) state.tasks.set(item.name, item)
  }
}

export function callAt(state: RunState, path: string | undefined): CallState | undefined {
  if (path === undefined) return undefined
  const turn = parentPath(path)
  return state.attempts
    .get(parentPath(turn))
    ?.turns.findLast((candidate) => candidate.path === turn)
    ?.calls.find((call) => call.path === path)
}

/** Whether a conversation leads back to itself, as in a hand-edited journal: following it would never end. */
function carriesItself(state: RunState, path: string, carried: string | undefined): boolean {
  for (let before = carried; before !== undefined; before = state.attempts.get(before)?.carries?.path)
    if (before === path) return true
  return false
}

/** Creates the attempt that an entry starts: of a model, a function or a child run. */
export function newAttempt(state: RunState, entry: EntryOf<'task.started'>): AttemptState {
  const path = entry.path as string
  const pinned = entry.request as unknown as PinnedRequest | undefined
  const isWhole = !pinned || outputReferences(pinned.message).every(({ output }) => state.outputs.has(output))
  return {
    path,
    task: taskNameAt(state, path),
    seq: entry.seq,
    pinned,
    request: pinned ? sentRequest(pinned, state.outputs) : noRequest,
    fingerprint: entry.fingerprint,
    agent: entry.agent ?? '',
    startedAt: entry.at,
    ...(entry.carries && !carriesItself(state, path, entry.carries.path) ? { carries: entry.carries } : {}),
    ...(entry.child ? { child: childRunId(state.run, path) } : {}),
    ...(entry.input === undefined ? {} : { input: entry.input }),
    // void: the request refers to an output that was removed by hand, so the attempt can't continue
    status: isWhole ? 'open' : 'void',
    accepted: [],
    turns: entry.code ? [functionTurn(path, entry, state)] : [],
    lost: [],
  }
}

/**
 * The agents that reached their limit of turns and had to answer without tools: with more turns, they might have
 * continued. Looks at the attempt, the attempts that it continues, and the attempts nested in these.
 */
export function iterationLimits(
  state: RunState,
  task: TaskState,
  attempt: AttemptState,
): Pick<StoredOutput, 'limited'> {
  const chain = [attempt]
  for (let before = attempt.carries; before; before = chain.at(-1)?.carries) {
    const carried = state.attempts.get(before.path)
    if (carried?.task !== attempt.task) break
    chain.push(carried)
  }
  const within = task.nested.filter((path) => chain.some((one) => path.startsWith(`${one.path}/`)))
  const forced = [...chain, ...within.flatMap((path) => state.attempts.get(path) ?? [])].filter(
    ({ turns }) => turns.at(-1)?.reply.last,
  )
  if (forced.length === 0) return {}
  return { limited: Object.fromEntries(forced.map(({ agent, turns }) => [agent, turns.length])) }
}

// Pinned text. An output of the run that occurs in a prompt is referred to instead of repeated.

type Outputs = ReadonlyMap<number, string>

/** The text as it was sent. An output that was removed by hand is marked as removed. */
export function renderText(pieces: PinnedText, outputs: Outputs): string {
  return pieces
    .map((piece) =>
      typeof piece === 'string' ? piece : (outputs.get(piece.output) ?? `[entry ${piece.output}, removed]`),
    )
    .join('')
}

export function outputReferences(pieces: PinnedText): OutputReference[] {
  return pieces.filter((piece) => typeof piece !== 'string')
}

/** Builds the message on demand, since the message of each task may contain the outputs of all earlier tasks. */
function sentRequest(pinned: PinnedRequest, outputs: Outputs): SentRequest {
  return {
    ...pinned,
    get message() {
      return renderText(pinned.message, outputs)
    },
  }
}
