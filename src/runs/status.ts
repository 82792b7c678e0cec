// How a run and a task stand, in the words that everything uses which shows them. A journal and the rows of a store
// have fewer: whether a process still holds a run, and whether it waits for a person or was stopped, is told apart here
// and nowhere else.
import type { RunStatus } from '../journal/entries.ts'
import { taskNameAt } from '../journal/state/at-path.ts'
import type { OpenQuestion } from '../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../journal/state/state.ts'
import type { Store } from '../stores/store.ts'

/** The status of a run as it is shown. */
export const runViewStatuses = {
  queued:
    'It waits for a worker: nobody has begun it, whoever did has left it between two steps, or what it waited for is there.',
  running: 'A process is executing it.',
  abandoned: 'It was being executed, and its process is gone; a resume continues it.',
  waiting: 'It is suspended until a person answers a question or raises a limit, its own or one of a run of its tasks.',
  stopped: 'It is suspended for any other reason, as `why` says; a resume continues it.',
  completed: 'All of its tasks are done.',
  failed: 'It ended with an error; a resume tries again, or a worker at `dueAt`.',
  cancelled: 'A person ended it for good.',
} as const

export type RunViewStatus = keyof typeof runViewStatuses

/** The status of a task as it is shown. */
export const taskViewStatuses = {
  pending: 'Its turn has not come.',
  running: 'A process is at it.',
  started: 'It was begun, and no process is at it now.',
  waiting: 'A question of it, or of the run that it is executed by, is open.',
  failed: 'It ended with an error.',
  skipped: 'Its condition did not hold.',
  executed: 'It was executed in this run.',
  inherited: 'Its output is that of another run.',
  edited: 'Its output is what a person put there.',
} as const

export type TaskViewStatus = keyof typeof taskViewStatuses

interface StatusFacts {
  /** How many are open, also of the runs of its tasks. */
  readonly questions: number
  /** Of a run that is running: whether a process has it. */
  readonly held: boolean
  /** Of a run that is suspended: whether what it waited for is there. */
  readonly awake: boolean
  readonly suspended?: RunState['suspended']
}

export function runViewStatus(status: RunStatus, { questions, held, awake, suspended }: StatusFacts): RunViewStatus {
  if (status === 'running') return held ? 'running' : 'abandoned'
  if (status !== 'suspended') return status
  // its answers alone do not continue it
  if (suspended?.reason === 'tasks-changed') return 'stopped'
  if (questions > 0) return 'waiting'
  return awake ? 'queued' : 'stopped'
}

/** The statuses that a run may have in a store whose status as it is shown is one of these. */
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

/** `held`: whether somebody is executing the run now. */
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
  /** What its worker, or whoever advances the run in it, is called. */
  readonly name: string | undefined
  readonly pid: number
  readonly host: string
}

export interface Execution {
  readonly held: boolean
  /** Unknown of a run that ended since it was read. */
  readonly holder?: Holder
}

/** Of a run that was read as being in this status. */
export async function readExecution(store: Store, runId: string, status: RunStatus): Promise<Execution> {
  if (status !== 'running') return { held: false }
  const owner = await store.holder(runId)
  if (owner) {
    const { label: name, pid, host } = owner
    return { held: true, holder: { name, pid, host: host.split('/', 1)[0] ?? '' } }
  }
  // one that ended since it was read has no holder either
  return { held: (await store.row(runId))?.status !== 'running' }
}

/** Whether a run that was read as running has lost its process. */
export async function isAbandoned(store: Store, runId: string): Promise<boolean> {
  return !(await readExecution(store, runId, 'running')).held
}
