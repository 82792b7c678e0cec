// Adds one entry of a journal to a timeline, in place: the server folds a whole journal by it, and the page the entries
// that come while it looks. Pure and free of Node, so that both show the same.
import type { Entry, EntryOf, Owner, ReplyPart, ToolOutcome } from '../../journal/entries.ts'
import {
  attemptsOnPath,
  childRunId,
  isNestedAttempt,
  parentPath,
  rootAttempt,
  taskInPath,
} from '../../journal/paths.ts'
import type { AttemptSpan, UnexecutedTask, Life, QuestionSpan, StepSpan, Timeline } from './timeline.ts'

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

/** An entry that is in it already changes nothing: whoever comes back may be told things twice. */
export function addEntry(timeline: Timeline, entry: Entry): void {
  // whoever gets a timeline only reads it: here is the one place that writes
  const growing = timeline as MutableTimeline
  if (entry.seq <= growing.seq) return
  const before = growing.updatedAt ?? entry.at
  growing.seq = entry.seq
  growing.createdAt ??= entry.at
  growing.updatedAt = entry.at
  applyEntry(growing, entry, before)
}

/** Attempts of a renamed task are shown with it; those of a removed one are over. */
function changeTasks(timeline: MutableTimeline, { at, changes = {} }: EntryOf<'run.resumed'>): void {
  const { renamed = {}, removed = [] } = changes
  const now = (task: string): string => (Object.hasOwn(renamed, task) ? (renamed[task] ?? task) : task)
  for (const attempt of timeline.attempts) attempt.task = now(attempt.task)
  for (const [index, given] of timeline.given.entries()) timeline.given[index] = { ...given, task: now(given.task) }
  for (const task of removed) endAttempts(timeline, task, 'void', at)
}

/** `before`: when the entry before it was written. */
function applyEntry(timeline: MutableTimeline, entry: Entry, before: string): void {
  const { at, path = '' } = entry
  switch (entry.type) {
    case 'run.created':
      if (!entry.queued) timeline.lives.push(toLife(at, entry.owner))
      break
    case 'run.resumed':
      // a process that is gone was last seen when it wrote that
      endLife(timeline, 'gone', before)
      timeline.lives.push({ ...toLife(at, entry.owner), via: entry.via })
      changeTasks(timeline, entry)
      break
    case 'run.suspended':
    case 'run.yielded':
    case 'run.completed':
    case 'run.failed':
    case 'run.cancelled':
      endLife(timeline, lifeEnd(entry.type), at)
      break
    case 'task.inherited':
      timeline.given.push({ task: path, as: 'inherited', at, from: entry.from.run, by: undefined })
      break
    case 'task.edited':
      endAttempts(timeline, path, 'void', at)
      timeline.given.push({ task: path, as: 'edited', at, from: undefined, by: entry.by })
      break
    case 'task.skipped':
      timeline.given.push({ task: path, as: 'skipped', at, from: undefined, by: undefined })
      break
    case 'task.started':
      // the one before it, if it is still open, was given up for it
      if (!isNestedAttempt(path)) endAttempts(timeline, taskInPath(path), entry.carries ? 'refused' : 'void', at)
      timeline.attempts.push({ ...toAttempt(timeline.runId, entry), task: taskNameAt(timeline, path) })
      break
    case 'task.completed':
      endAttempt(attemptAt(timeline, path), 'completed', at)
      break
    case 'task.failed': {
      const attempt = attemptAt(timeline, path) ?? openAttemptOf(timeline, taskInPath(path))
      endAttempt(attempt, 'failed', at, entry.error.message)
      break
    }
    case 'task.invalidated':
      endAttempts(timeline, path, 'void', at)
      break
    case 'guardrail.judged':
      if (entry.verdict === 'refused')
        endAttempt(attemptAt(timeline, path), 'refused', at, `${entry.guardrail}: ${entry.reason ?? ''}`)
      break
    case 'model.replied':
    case 'model.failed':
      stepsAt(timeline, path)?.push(modelStep(entry))
      break
    case 'tool.called':
      addCall(timeline, entry)
      break
    case 'tool.returned':
      addReturn(timeline, entry)
      break
    case 'tool.abandoned': {
      const step = stepAt(timeline, path)
      if (step) Object.assign(step, { words: entry.reason, status: entry.begun === false ? 'failed' : 'open' })
      break
    }
    case 'question.asked': {
      const { id, kind } = entry.question
      timeline.questions.push({ id, kind, path, from: at, to: undefined, decision: undefined, by: undefined })
      break
    }
    case 'question.answered': {
      const asked = timeline.questions.findLast(({ id }) => id === entry.question)
      if (asked) Object.assign(asked, { to: at, decision: entry.answer.decision, by: entry.answer.by })
      break
    }
    // they have no place in time of their own
    case 'run.requeued':
    case 'run.imported':
    case 'run.woken':
    case 'task.offered':
    case 'callback.returned':
    case 'file.written':
    case 'context.summarised':
    case 'message.refused':
  }
}

function toLife(from: string, { label: name, pid, host }: Owner): Mutable<Life> {
  const holder = { name, pid, host: host.split('/', 1)[0] ?? '' }
  return { from, to: undefined, end: undefined, holder, via: undefined }
}

function lifeEnd(
  type: 'run.suspended' | 'run.yielded' | 'run.completed' | 'run.failed' | 'run.cancelled',
): Life['end'] {
  return type.slice('run.'.length) as Life['end']
}

function endLife({ lives }: MutableTimeline, end: Life['end'], to: string): void {
  const last = lives.at(-1)
  if (last?.end === undefined && last) Object.assign(last, { end, to })
}

/** The name that the task of a path has now: the attempts of a renamed task keep their paths. */
function taskNameAt(timeline: MutableTimeline, path: string): string {
  return attemptAt(timeline, rootAttempt(path))?.task ?? taskInPath(path)
}

function toAttempt(runId: string, entry: EntryOf<'task.started'>): Omit<OpenAttempt, 'task'> {
  const { path = '', at, agent, child, because, request } = entry
  return {
    path,
    within: isNestedAttempt(path) ? parentPath(path) : undefined,
    agent,
    // as it is stored, it has its place in a journal that nobody edited
    model: (request as { readonly model?: string } | undefined)?.model,
    from: at,
    to: undefined,
    status: 'open',
    child: child ? childRunId(runId, path) : undefined,
    because: because ?? [],
    steps: [],
  }
}

function attemptAt({ attempts }: MutableTimeline, path: string): OpenAttempt | undefined {
  return attempts.findLast((attempt) => attempt.path === path)
}

function openAttemptOf({ attempts }: MutableTimeline, task: string): OpenAttempt | undefined {
  return attempts.findLast((attempt) => attempt.task === task && attempt.status === 'open')
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

function endAttempts({ attempts }: MutableTimeline, task: string, status: AttemptSpan['status'], to: string): void {
  for (const attempt of attempts) if (attempt.task === task) endAttempt(attempt, status, to)
}

/** The steps of the attempt that a turn or a call is of. */
function stepsAt(timeline: MutableTimeline, path: string): Mutable<StepSpan>[] | undefined {
  return attemptAt(timeline, attemptsOnPath(path).at(-1) ?? '')?.steps
}

function stepAt(timeline: MutableTimeline, path: string): Mutable<StepSpan> | undefined {
  return stepsAt(timeline, path)?.findLast((step) => step.path === path)
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

/** A call that is made again, after a crash, is the same step: it began when it was first made. */
function addCall(timeline: MutableTimeline, { path = '', seq, at, tool }: EntryOf<'tool.called'>): void {
  if (stepAt(timeline, path)) return
  stepsAt(timeline, path)?.push(toolStep({ path, seq, name: tool, from: at }))
}

function addReturn(timeline: MutableTimeline, entry: EntryOf<'tool.returned'>): void {
  const { path = '', seq, at, outcome, source } = entry
  let step = stepAt(timeline, path)
  if (!step) {
    // one that nobody called here: its result was on record, or a person gave it
    step = toolStep({ path, seq, name: undefined, from: at })
    stepsAt(timeline, path)?.push(step)
  }
  Object.assign(step, { to: at, source, ...outcomeSpan(outcome) })
}

function toolStep(step: Pick<StepSpan, 'path' | 'seq' | 'name' | 'from'>): Mutable<StepSpan> {
  const open = { to: undefined, status: 'open', source: undefined, usage: undefined } as const
  return { ...step, kind: 'tool', ...open, tries: 0, words: '' }
}

function outcomeSpan(outcome: ToolOutcome): Pick<StepSpan, 'status' | 'words'> {
  if ('error' in outcome) return { status: 'failed', words: clip(outcome.error) }
  if ('denied' in outcome) return { status: 'denied', words: clip(outcome.denied) }
  if ('unreadable' in outcome) return { status: 'done', words: clip(outcome.unreadable) }
  const { result } = outcome
  return { status: 'done', words: clip(typeof result === 'string' ? result : JSON.stringify(result)) }
}

/** What was said, or else which tools are called. */
function replyWords(parts: readonly ReplyPart[]): string {
  const said = parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
  if (said.trim() !== '') return said.trim()
  return parts.flatMap((part) => (part.type === 'call' || part.type === 'provider-call' ? [part.tool] : [])).join(', ')
}

function clip(text: string): string {
  return text.length <= wordsLimit ? text : `${text.slice(0, wordsLimit).toWellFormed()}…`
}
