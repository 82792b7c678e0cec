// View statuses of runs and tasks: the words in which every surface shows them. Journals and rows have fewer statuses.
// Only this file decides whether a run is abandoned, waits for a person, or was stopped.
import type { RunStatus } from '../journal/entries.ts'
import { taskNameAt } from '../journal/state/at-path.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import type { Store } from '../stores/store.ts'
import { describeOrphan, givenUpReason, movedWords } from '../journal/describe.ts'
import { isReady, type Wakeable } from '../read/row-summary.ts'
import { parentRunId, childRunId, rootRunId } from '../journal/paths.ts'
import { plural } from '../text/words.ts'

/** The view statuses of a run. */
export const runViewStatuses = {
  queued:
    'It waits for a worker: it was not started yet, it was handed back between two steps, or what it waited for is there.',
  running: 'A process is executing it.',
  abandoned: 'It was being executed, and its process is gone. A resume continues it.',
  waiting: 'It is suspended until a person answers a question or raises a limit, of the run or of a child run.',
  sleeping:
    'A flow, or a child run that is a flow, is suspended until a time or an event. A worker or a resume continues it then.',
  stopped: 'It is suspended for another reason, given in `why`. A resume continues it.',
  completed: 'All of its tasks are done.',
  failed: 'It ended with an error. A resume tries again, or a worker at `dueAt`.',
  cancelled: 'A person ended it for good.',
} as const

export type RunViewStatus = keyof typeof runViewStatuses

/** The view statuses of a task. */
export const taskViewStatuses = {
  pending: 'It has not been reached yet.',
  running: 'A process is executing it.',
  started: 'It was started, and no process is executing it now.',
  waiting: 'It has an open question, or its child run has one.',
  sleeping: 'It is a step of a flow that waits for a time or an event.',
  failed: 'It ended with an error.',
  skipped: 'Its condition did not hold.',
  left: 'It is a step of a flow that returned before the step was done.',
  executed: 'It was executed in this run.',
  inherited: 'Its output is from another run.',
  edited: 'Its output is from a person.',
} as const

export type TaskViewStatus = keyof typeof taskViewStatuses

interface StatusFacts {
  /** The number of open questions, including those of child runs. */
  readonly questions: number
  /** Whether a process holds the running run. */
  readonly held: boolean
}

export function runViewStatus(status: RunStatus, run: Wakeable, { questions, held }: StatusFacts): RunViewStatus {
  if (status === 'running') return held ? 'running' : 'abandoned'
  if (status !== 'suspended') return status
  const reason = run.suspended?.reason
  // answers alone don't continue such a run
  if (reason === 'tasks-changed') return 'stopped'
  const isOver = waitIsOver(run)
  if (questions > 0 && !isOver) return 'waiting'
  if (isReady(run) || (isOver && !run.imported)) return 'queued'
  return !isOver && sleepingReasons.has(reason) ? 'sleeping' : 'stopped'
}

/** child: without an open question, the child run sleeps. */
const sleepingReasons: ReadonlySet<string | undefined> = new Set(['sleeping', 'events', 'child'])

/** Whether a suspended run continues now because a time has come: the end of a sleep, or of the time for an answer. */
export function waitIsOver({ suspended }: Pick<Wakeable, 'suspended'>): boolean {
  const until = untilOf(suspended)
  return until !== undefined && Date.parse(until) <= Date.now()
}

function untilOf(suspended: Wakeable['suspended']): string | undefined {
  return suspended && 'until' in suspended ? suspended.until : undefined
}

/** The stored statuses that runs with these view statuses may have. */
export function storedStatuses(shown: readonly RunViewStatus[]): RunStatus[] {
  return [...new Set(shown.flatMap(storedStatus))]
}

function storedStatus(shown: RunViewStatus): RunStatus | RunStatus[] {
  switch (shown) {
    case 'abandoned':
      return 'running'
    case 'waiting':
    case 'sleeping':
    case 'stopped':
      return 'suspended'
    case 'queued':
      return ['queued', 'suspended']
    default:
      return shown
  }
}

/** `held`: whether a process is executing the run. */
export function taskViewStatus(
  { status, error, attempts }: Pick<RunState, 'status' | 'error' | 'attempts'>,
  task: TaskState,
  held: boolean,
  questions: readonly Pick<OpenQuestion, 'path'>[],
): TaskViewStatus {
  if (task.status === 'completed') return task.source ?? 'executed'
  if (task.status !== 'running') return task.status
  if (error?.task === task.name) return 'failed'
  if (questions.some(({ path }) => taskNameAt({ attempts }, path) === task.name)) return 'waiting'
  if (task.wait === 'sleep' || task.wait === 'event') return 'sleeping'
  return status === 'running' && held ? 'running' : 'started'
}

interface Counts {
  readonly done: number
  readonly failed: number
  readonly total: number
  readonly flow: boolean
}

/** `3 of 4 tasks`. A flow has no total: `12 steps`. */
export function doneWords({ done, total, flow }: Counts): string {
  return flow ? plural(done, 'step') : `${done} of ${plural(total, 'task')}`
}

/** The process that executes a run. */
export interface Holder {
  /** The label of the worker, or of another process. */
  readonly name: string | undefined
  readonly pid: number
  readonly host: string
}

export interface Execution {
  readonly held: boolean
  /** Absent if `held` is false, or if the run ended meanwhile. */
  readonly holder?: Holder
}

/** `status`: the stored status, as it was read. */
export async function readExecution(store: Store, runId: string, status: RunStatus): Promise<Execution> {
  if (status !== 'running') return { held: false }
  const owner = await store.holder(runId)
  if (owner) {
    const { label: name, pid, host } = owner
    return { held: true, holder: { name, pid, host: host.split('/', 1)[0] ?? '' } }
  }
  // a run that ended meanwhile has no holder either
  return { held: (await store.row(runId))?.status !== 'running' }
}

/** Whether a run whose stored status is `running` has lost its process. */
export async function isAbandoned(store: Store, runId: string): Promise<boolean> {
  return !(await readExecution(store, runId, 'running')).held
}

// Why a run has its status. The next steps are up to the surface.

interface SuspendedRun extends Wakeable {
  readonly runId: string
}

interface RunFacts extends SuspendedRun {
  readonly status: RunViewStatus
  readonly openQuestions: number
  readonly error: RunState['error']
  /** When a worker starts the run, or tries it again. */
  readonly dueAt?: string | undefined
}

/** Explains why a run waits, was stopped, failed or lost its process; undefined for other runs. */
export function describeWhy(facts: RunFacts): string | undefined {
  const { status, openQuestions, error, dueAt, imported } = facts
  switch (status) {
    case 'queued':
      if (facts.suspended) return `it ${describeStop(facts)}`
      if (imported) return importedWords
      return dueAt === undefined ? 'it waits for a worker' : `no worker starts it before ${dueAt}`
    case 'abandoned':
      return imported ? importedWords : 'its process is gone'
    case 'waiting': {
      const until = untilOf(facts.suspended)
      const more = until === undefined ? '' : `, or until ${until}`
      return `it waits for ${plural(openQuestions, 'answer')}${more}`
    }
    case 'sleeping':
    case 'stopped':
      return `it ${describeStop(facts)}`
    case 'failed':
      return dueAt === undefined || imported ? error?.message : `${error?.message}; a worker tries again at ${dueAt}`
    default:
      return undefined
  }
}

/** Whether the run was given up after several processes in a row died. */
export function isGivenUpReason({ why }: { readonly why: string | undefined }): boolean {
  return why === `it ${givenUpReason}`
}

/** Whether the run was moved to another store. */
export function isMovedReason({ why }: { readonly why: string | undefined }): boolean {
  return /^it was (being )?moved to /.test(why ?? '')
}

const importedWords = 'it was imported, and workers leave imported runs alone'

/** Why a suspended run that waits for no answer stopped: `was stopped`, `has its answers`. */
export function describeStop(run: SuspendedRun): string {
  const words = describeReason(run)
  const continues = isReady(run) || (waitIsOver(run) && !run.imported)
  if (!continues || run.suspended?.reason === 'parent') return words
  if (parentRunId(run.runId) !== undefined) return `${words}, and continues with run ${rootRunId(run.runId)}`
  return `${words}, and now waits for a worker or a resume`
}

function describeReason(run: SuspendedRun): string {
  const { runId, suspended } = run
  const until = untilOf(suspended)
  const isOver = isReady(run) || waitIsOver(run)
  switch (suspended?.reason) {
    case 'questions':
    case 'limit':
      return 'has its answers'
    case 'child': {
      const runs = (suspended.children ?? []).map((attempt) => childRunId(runId, attempt))
      if (runs.length === 0) return 'has its answers'
      return `${isOver ? 'waited' : 'waits'} for ${runs.join(' and ')}${until === undefined ? '' : ` until ${until}`}`
    }
    case 'parent':
      return `is part of run ${rootRunId(runId)}, which has used up its budget`
    case 'through':
      return `stopped after task ${suspended.through}, as requested`
    case 'tasks-changed':
      return `has recorded work that its crew has no task for: ${(suspended.orphaned ?? []).map(describeOrphan).join('; ')}`
    case 'takeovers':
      return givenUpReason
    case 'moved':
      return movedWords(suspended)
    case 'sleeping':
      return `${waitIsOver(run) ? 'slept' : 'sleeps'} until ${until}`
    case 'events': {
      const latest = until === undefined ? '' : `, until ${until} at the latest`
      return isOver ? 'has waited for an event' : `waits for an event${latest}`
    }
    case 'edited':
      return 'has missing or changed entries, and unfinished tasks'
    default:
      return 'was stopped'
  }
}
