// View statuses of runs and tasks: the words that everything uses which shows them. Journals and rows have fewer.
// Whether a process still holds a run, and whether it waits for a person or was stopped, is decided only here.
import type { RunStatus } from '../journal/entries.ts'
import { taskNameAt } from '../journal/state/at-path.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import type { Store } from '../stores/store.ts'

/** The view statuses of a run. */
export const runViewStatuses = {
  queued:
    'It waits for a worker: it was not started yet, was handed back between two steps, or what it waited for has arrived.',
  running: 'A process is executing it.',
  abandoned: 'It was being executed, and its process is gone. A resume continues it.',
  waiting: 'It is suspended until a person answers a question or raises a limit, of the run or of a child run.',
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
  failed: 'It ended with an error.',
  skipped: 'Its condition did not hold.',
  executed: 'It was executed in this run.',
  inherited: 'Its output is from another run.',
  edited: 'Its output is from a person.',
} as const

export type TaskViewStatus = keyof typeof taskViewStatuses

interface StatusFacts {
  /** How many questions are open, with those of child runs. */
  readonly questions: number
  /** Whether a process holds the running run. */
  readonly held: boolean
  /** Whether what the suspended run waited for is there. */
  readonly awake: boolean
  readonly suspended?: RunState['suspended']
}

export function runViewStatus(status: RunStatus, { questions, held, awake, suspended }: StatusFacts): RunViewStatus {
  if (status === 'running') return held ? 'running' : 'abandoned'
  if (status !== 'suspended') return status
  // answers alone don't continue it
  if (suspended?.reason === 'tasks-changed') return 'stopped'
  if (questions > 0) return 'waiting'
  return awake ? 'queued' : 'stopped'
}

/** The stored statuses of runs with these view statuses. */
export function storedStatuses(shown: readonly RunViewStatus[]): RunStatus[] {
  return [...new Set(shown.flatMap(storedStatus))]
}

function storedStatus(shown: RunViewStatus): RunStatus | RunStatus[] {
  switch (shown) {
    case 'abandoned':
      return 'running'
    case 'waiting':
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
  return status === 'running' && held ? 'running' : 'started'
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
  /** Absent if the run ended meanwhile. */
  readonly holder?: Holder
}

/** `status`: as it was read. */
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

/** Whether a run that was read as running has lost its process. */
export async function isAbandoned(store: Store, runId: string): Promise<boolean> {
  return !(await readExecution(store, runId, 'running')).held
}
