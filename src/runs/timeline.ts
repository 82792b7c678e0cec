// A run over time: its lives, attempts, steps and questions, each with its times and at most a few words of content, so
// that a run of many thousand steps still fits. Plain data, free of Node: the server builds a timeline from the
// journal, and the page adds the entries that arrive while it is open.
import type {
  DispatchedBy,
  Entry,
  EntryOf,
  EntryType,
  Owner,
  QuestionKind,
  ReplyPart,
  TaskListChanges,
  ToolOutcome,
  Usage,
} from '../journal/entries.ts'
import { returnedCall, startedCall } from '../journal/call-entries.ts'
import { attemptsOnPath, childRunId, isNestedAttempt, parentPath, rootAttempt, taskInPath } from '../journal/paths.ts'

export interface Timeline {
  readonly runId: string
  /** The last entry that the timeline covers. */
  readonly seq: number
  readonly createdAt: string | undefined
  readonly updatedAt: string | undefined
  /** One life for each time that a process worked on the run, in order. Between lives, the run waited. */
  readonly lives: readonly Life[]
  /** In the order in which they started, including attempts that are part of a step (`within`). */
  readonly attempts: readonly AttemptSpan[]
  /** Tasks that were inherited, edited or skipped instead of executed. */
  readonly given: readonly UnexecutedTask[]
  readonly questions: readonly QuestionSpan[]
}

export interface Life {
  readonly from: string
  /** Undefined while the life lasts, and after a kill until another process takes over. */
  readonly to: string | undefined
  /** gone: the process recorded no end, and another process resumed the run. */
  readonly end: 'completed' | 'suspended' | 'failed' | 'cancelled' | 'yielded' | 'gone' | undefined
  readonly holder: { readonly name: string | undefined; readonly pid: number; readonly host: string } | undefined
  readonly via: DispatchedBy | undefined
}

export interface AttemptSpan {
  /** `note#2`, or within a step `note#1/3.0/analyst#1`. */
  readonly path: string
  readonly task: string
  /** The step that it belongs to: a delegation, a judge, a summary. */
  readonly within: string | undefined
  readonly agent: string | undefined
  /** Undefined for function tasks and nested crews. */
  readonly model: string | undefined
  readonly from: string
  readonly to: string | undefined
  /** refused: the next attempt continues its conversation. void: given up; the next attempt starts fresh. */
  readonly status: 'open' | 'completed' | 'refused' | 'failed' | 'void'
  /** For a nested crew or a kickoff by a function: the child run that executes this attempt. */
  readonly child: string | undefined
  /** Why the previous attempt was given up, and why this one was refused or failed. */
  readonly because: readonly string[]
  readonly steps: readonly StepSpan[]
}

export interface StepSpan {
  /** `note#1/2` is a model call, `note#1/2.0` a tool call that the reply requested. */
  readonly path: string
  /** The entry that records the step, or its start. */
  readonly seq: number
  readonly kind: 'model' | 'tool'
  /** The tool; or the model's name according to the provider, if it differs from the requested name. */
  readonly name: string | undefined
  readonly from: string
  /** Undefined while the step lasts, and for a call without a recorded end. */
  readonly to: string | undefined
  readonly status: 'open' | 'done' | 'failed' | 'denied'
  /** Where the result came from if the tool wasn't called: see `tool.returned`. */
  readonly source: string | undefined
  readonly usage: Usage | undefined
  /** The number of failed tries. */
  readonly tries: number
  /** The beginning of the reply or result, the tools that the reply calls, or the error. */
  readonly words: string
}

export interface UnexecutedTask {
  readonly task: string
  readonly as: 'inherited' | 'edited' | 'skipped'
  readonly at: string
  /** The run that made an inherited output. */
  readonly from: string | undefined
  readonly by: string | undefined
}

export interface QuestionSpan {
  readonly id: string
  readonly path: string
  readonly kind: QuestionKind
  readonly from: string
  readonly to: string | undefined
  readonly decision: string | undefined
  readonly by: string | undefined
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] }
type OpenAttempt = Mutable<Omit<AttemptSpan, 'steps'>> & { readonly steps: Mutable<StepSpan>[] }
type MutableTimeline = Mutable<Omit<Timeline, 'lives' | 'attempts' | 'given' | 'questions'>> & {
  readonly lives: Mutable<Life>[]
  readonly attempts: OpenAttempt[]
  readonly given: UnexecutedTask[]
  readonly questions: Mutable<QuestionSpan>[]
}

const wordsLimit = 160

export function emptyTimeline(runId: string): Timeline {
  return {
    runId,
    seq: 0,
    createdAt: undefined,
    updatedAt: undefined,
    lives: [],
    attempts: [],
    given: [],
    questions: [],
  }
}

/** What each type of entry changes in a timeline; undefined for types that aren't shown. */
const rows: { readonly [T in EntryType]: ((timeline: MutableTimeline, entry: EntryOf<T>) => void) | undefined } = {
  'run.created': ({ lives }, { at, owner, queued }) => {
    if (!queued) lives.push(toLife(at, owner))
  },
  'run.resumed': (timeline, entry) => {
    // a process that is gone was last seen when it wrote the previous entry
    endLife(timeline, 'gone', timeline.updatedAt ?? entry.at)
    timeline.lives.push({ ...toLife(entry.at, entry.owner), via: entry.via })
    changeTasks(timeline, entry)
  },
  'run.suspended': (timeline, { at }) => endLife(timeline, 'suspended', at),
  'run.yielded': (timeline, { at }) => endLife(timeline, 'yielded', at),
  'run.requeued': undefined,
  'run.imported': undefined,
  'run.woken': undefined,
  'run.completed': (timeline, { at }) => {
    endLife(timeline, 'completed', at)
    // steps that the function of a flow left
    for (const attempt of timeline.attempts) endAttempt(attempt, 'void', at)
  },
  'run.failed': (timeline, { at }) => endLife(timeline, 'failed', at),
  'run.cancelled': (timeline, { at }) => endLife(timeline, 'cancelled', at),
  'task.offered': undefined,
  'task.inherited': ({ given }, { path: task = '', at, from }) => {
    given.push({ task, as: 'inherited', at, from: from.run, by: undefined })
  },
  'task.started': (timeline, entry) => {
    const { path = '', at, carries } = entry
    // an open attempt was given up, or refused, for this one
    const task = taskInPath(path)
    const isRefused = carries !== undefined && taskInPath(carries.path) === task
    if (!isNestedAttempt(path)) endAttempts(timeline, task, isRefused ? 'refused' : 'void', at)
    const attempt = { ...toAttempt(timeline.runId, entry), task: taskNameAt(timeline, path) }
    addToIndex(indexOf(timeline), attempt)
    timeline.attempts.push(attempt)
    if (entry.call) startCall(timeline, entry, taskInPath(path))
  },
  'task.completed': (timeline, entry) => {
    endCall(timeline, entry)
    endAttempt(attemptAt(timeline, entry.path ?? ''), 'completed', entry.at)
  },
  'task.failed': (timeline, { path = '', at, error }) => {
    const attempt = attemptAt(timeline, path) ?? openAttemptOf(timeline, taskInPath(path))
    endAttempt(attempt, 'failed', at, error.message)
  },
  'task.skipped': ({ given }, { path: task = '', at }) => {
    given.push({ task, as: 'skipped', at, from: undefined, by: undefined })
  },
  'task.edited': (timeline, { path: task = '', at, by }) => {
    endAttempts(timeline, task, 'void', at)
    timeline.given.push({ task, as: 'edited', at, from: undefined, by })
  },
  'task.invalidated': (timeline, { path: task = '', at }) => endAttempts(timeline, task, 'void', at),
  'task.renamed': (timeline, { path: task = '', to }) => renameTasks(timeline, { [task]: to }),
  'callback.returned': undefined,
  'file.written': undefined,
  'model.replied': (timeline, entry) => stepsAt(timeline, entry.path ?? '')?.push(modelStep(entry)),
  'model.failed': (timeline, entry) => stepsAt(timeline, entry.path ?? '')?.push(modelStep(entry)),
  'tool.called': (timeline, entry) => startCall(timeline, entry, entry.tool),
  'tool.returned': endCall,
  'tool.abandoned': (timeline, entry) => {
    const step = stepAt(timeline, entry.path ?? '')
    if (step) Object.assign(step, { words: entry.reason, status: entry.begun === false ? 'failed' : 'open' })
  },
  'guardrail.judged': (timeline, { path = '', at, verdict, guardrail, reason = '' }) => {
    if (verdict === 'refused') endAttempt(attemptAt(timeline, path), 'refused', at, `${guardrail}: ${reason}`)
  },
  'context.summarised': undefined,
  'event.received': undefined,
  'question.asked': ({ questions }, { path = '', at, question: { id, kind } }) => {
    questions.push({ id, kind, path, from: at, to: undefined, decision: undefined, by: undefined })
  },
  'question.answered': ({ questions }, { at, question, answer: { decision, by } }) => {
    const asked = questions.findLast(({ id }) => id === question)
    if (asked) Object.assign(asked, { to: at, decision, by })
  },
  'message.refused': undefined,
}

/** Adds an entry, in place. Ignores entries that are already in the timeline: a stream may repeat them. */
export function addEntry(timeline: Timeline, entry: Entry): void {
  // readonly for all readers: only this function writes
  const growing = timeline as MutableTimeline
  if (entry.seq <= growing.seq) return
  // the journal may have types of newer code
  const row = Object.hasOwn(rows, entry.type) ? rows[entry.type] : undefined
  const apply = row as ((timeline: MutableTimeline, entry: Entry) => void) | undefined
  apply?.(growing, entry)
  growing.seq = entry.seq
  growing.createdAt ??= entry.at
  growing.updatedAt = entry.at
}

/** Moves the attempts of a renamed task to its new name, and ends those of a removed task. */
function changeTasks(timeline: MutableTimeline, { at, changes = {} }: EntryOf<'run.resumed'>): void {
  const { renamed = {}, removed = [] } = changes
  renameTasks(timeline, renamed)
  for (const task of removed) endAttempts(timeline, task, 'void', at)
}

function renameTasks(timeline: MutableTimeline, renamed: NonNullable<TaskListChanges['renamed']>): void {
  const newName = (task: string): string => (Object.hasOwn(renamed, task) ? (renamed[task] ?? task) : task)
  for (const attempt of timeline.attempts) attempt.task = newName(attempt.task)
  indexes.delete(timeline)
  for (const [index, given] of timeline.given.entries()) timeline.given[index] = { ...given, task: newName(given.task) }
}

function toLife(from: string, { label: name, pid, host }: Owner): Mutable<Life> {
  const holder = { name, pid, host: host.split('/', 1)[0] ?? '' }
  return { from, to: undefined, end: undefined, holder, via: undefined }
}

function endLife({ lives }: MutableTimeline, end: Life['end'], to: string): void {
  const last = lives.at(-1)
  if (last?.end === undefined && last) Object.assign(last, { end, to })
}

/** The current name of a path's task: the attempts of a renamed task keep their paths. */
function taskNameAt(timeline: MutableTimeline, path: string): string {
  return attemptAt(timeline, rootAttempt(path))?.task ?? taskInPath(path)
}

function toAttempt(runId: string, entry: EntryOf<'task.started'>): Omit<OpenAttempt, 'task'> {
  const { path = '', at, agent, child, because, request } = entry
  return {
    path,
    within: isNestedAttempt(path) ? parentPath(path) : undefined,
    agent,
    // its shape was checked when the entry was read
    model: (request as { readonly model?: string } | undefined)?.model,
    from: at,
    to: undefined,
    status: 'open',
    child: child ? childRunId(runId, path) : undefined,
    because: because ?? [],
    steps: [],
  }
}

/** Attempts by path, and by task in order: a search through all of them for each entry would be too slow. */
interface AttemptIndex {
  readonly byPath: Map<string, OpenAttempt>
  readonly byTask: Map<string, OpenAttempt[]>
}

/** Indexes are kept outside the timelines, which are plain data. */
const indexes = new WeakMap<MutableTimeline, AttemptIndex>()

function indexOf(timeline: MutableTimeline): AttemptIndex {
  const known = indexes.get(timeline)
  if (known) return known
  const index: AttemptIndex = { byPath: new Map(), byTask: new Map() }
  for (const attempt of timeline.attempts) addToIndex(index, attempt)
  indexes.set(timeline, index)
  return index
}

function addToIndex({ byPath, byTask }: AttemptIndex, attempt: OpenAttempt): void {
  byPath.set(attempt.path, attempt)
  const beside = byTask.get(attempt.task)
  if (beside) beside.push(attempt)
  else byTask.set(attempt.task, [attempt])
}

function attemptAt(timeline: MutableTimeline, path: string): OpenAttempt | undefined {
  return indexOf(timeline).byPath.get(path)
}

function openAttemptOf(timeline: MutableTimeline, task: string): OpenAttempt | undefined {
  return indexOf(timeline)
    .byTask.get(task)
    ?.findLast(({ status }) => status === 'open')
}

function endAttempt(
  attempt: OpenAttempt | undefined,
  status: AttemptSpan['status'],
  to: string,
  because?: string,
): void {
  if (attempt?.status !== 'open') return
  Object.assign(attempt, { status, to, ...(because === undefined ? {} : { because: [...attempt.because, because] }) })
}

function endAttempts(timeline: MutableTimeline, task: string, status: AttemptSpan['status'], to: string): void {
  for (const attempt of indexOf(timeline).byTask.get(task) ?? []) endAttempt(attempt, status, to)
}

/** The steps of the attempt that a turn or a call belongs to. */
function stepsAt(timeline: MutableTimeline, path: string): Mutable<StepSpan>[] | undefined {
  return attemptAt(timeline, attemptsOnPath(path).at(-1) ?? '')?.steps
}

function stepAt(timeline: MutableTimeline, path: string): Mutable<StepSpan> | undefined {
  return stepsAt(timeline, path)?.findLast((step) => step.path === path)
}

function startCall(timeline: MutableTimeline, entry: EntryOf<'task.started' | 'tool.called'>, name: string): void {
  const path = startedCall(entry)?.path ?? ''
  // a call that is repeated after a crash is the same step, and started when it was first made
  if (stepAt(timeline, path)) return
  stepsAt(timeline, path)?.push(toolStep(path, entry, name))
}

function endCall(timeline: MutableTimeline, entry: EntryOf<'task.completed' | 'tool.returned'>): void {
  const returned = returnedCall(entry)
  if (!returned) return
  const { path, outcome, source } = returned
  let step = stepAt(timeline, path)
  if (!step) {
    // the tool wasn't called: the result was already recorded, or a person gave it
    step = toolStep(path, entry, undefined)
    stepsAt(timeline, path)?.push(step)
  }
  Object.assign(step, { to: entry.at, source, ...outcomeSpan(outcome) })
}

function modelStep(entry: EntryOf<'model.replied' | 'model.failed'>): StepSpan {
  const { path = '', seq, startedAt, at, tries = [] } = entry
  const step = { path, seq, kind: 'model', from: startedAt, to: at, source: undefined } as const
  if (entry.type === 'model.failed') {
    const words = clip(entry.error.message)
    return { ...step, name: undefined, status: 'failed', usage: undefined, tries: tries.length, words }
  }
  const { model: name, usage, parts } = entry
  return { ...step, name, status: 'done', usage, tries: tries.length, words: clip(replyWords(parts)) }
}

function toolStep(path: string, { seq, at }: Entry, name: string | undefined): Mutable<StepSpan> {
  const open = { to: undefined, status: 'open', source: undefined, usage: undefined } as const
  return { path, seq, kind: 'tool', name, from: at, ...open, tries: 0, words: '' }
}

function outcomeSpan(outcome: ToolOutcome): Pick<StepSpan, 'status' | 'words'> {
  if ('error' in outcome) return { status: 'failed', words: clip(outcome.error) }
  if ('denied' in outcome) return { status: 'denied', words: clip(outcome.denied) }
  if ('unreadable' in outcome) return { status: 'done', words: clip(outcome.unreadable) }
  const { result } = outcome
  return { status: 'done', words: clip(typeof result === 'string' ? result : JSON.stringify(result)) }
}

/** The text of a reply, or, if it has none, the tools that it calls. */
function replyWords(parts: readonly ReplyPart[]): string {
  const text = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (text.trim() !== '') return text.trim()
  const tools = parts.flatMap((part) => (part.type === 'call' || part.type === 'provider-call' ? [part.tool] : []))
  return tools.length > 0 ? `calls ${tools.join(', ')}` : ''
}

function clip(text: string): string {
  return text.length <= wordsLimit ? text : `${text.slice(0, wordsLimit).toWellFormed()}…`
}
