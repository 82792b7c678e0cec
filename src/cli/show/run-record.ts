// A run as `show`, `tasks` and `--json` give it: folded from the journal, without the crew's code, as plain JSON.
import type { RunSummary } from '../../crew/result/list-runs.ts'
import type { Failure, PlannedTask, Question, Usage } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { callerOf } from '../../journal/paths.ts'
import { openQuestions, spentOn, type RunState, type TaskState } from '../../journal/state/state.ts'

export interface RunRecord extends Omit<RunSummary, 'parent' | 'questions'> {
  readonly parent: { readonly run: string; readonly from: string | undefined } | undefined
  readonly plan: readonly PlannedTask[] | undefined
  /** Of the last task, once the run is completed. */
  readonly raw: string | undefined
  readonly output: Json | undefined
  readonly questions: readonly Question[]
  readonly tasks: readonly TaskRecord[]
}

export interface TaskRecord {
  readonly name: string
  readonly id: string
  readonly status: TaskWord
  readonly agent: string | undefined
  readonly attempts: number
  readonly usage: Usage
  readonly startedAt: string | undefined
  readonly completedAt: string | undefined
  readonly raw: string | undefined
  /** The JSON of a structured output; the text of another. */
  readonly output: Json | undefined
  /** Where an inherited output was made. */
  readonly from: string | undefined
  readonly stale: readonly string[] | undefined
  readonly error: Failure | undefined
}

/** `started`: begun, and nobody is at it now. */
export type TaskWord = 'pending' | 'running' | 'started' | 'failed' | 'skipped' | 'executed' | 'inherited' | 'edited'

export function recordOf(
  state: RunState,
  abandoned: boolean,
  questions: readonly Question[] = openQuestions(state),
): RunRecord {
  const tasks = [...state.tasks.values()]
    .filter((task) => !task.removed)
    .map((task) => taskRecord(state, task, abandoned))
  const last = state.status === 'completed' ? tasks.at(-1) : undefined
  return {
    id: state.run,
    crew: state.crew,
    status: state.status,
    abandoned,
    inputs: plainInputs(state.inputs),
    parent: state.parent && { run: state.parent.run, from: state.parent.from },
    caller: callerOf(state.run),
    plan: state.plan,
    createdAt: state.createdAt,
    updatedAt: state.updatedAt,
    lives: state.lives,
    done: tasks.filter((task) => task.raw !== undefined || task.status === 'skipped').length,
    total: tasks.length,
    usage: { ...state.spent },
    error: state.error,
    raw: last?.raw,
    output: last?.output,
    questions,
    tasks,
  }
}

function taskRecord(state: RunState, task: TaskState, abandoned: boolean): TaskRecord {
  const { output } = task
  return {
    name: task.name,
    id: task.id,
    status: taskWord(state, task, abandoned),
    agent: output?.agent ?? task.agent,
    attempts: task.attempts.length,
    usage: output?.usage ?? spentOn(state, task),
    startedAt: output?.startedAt ?? task.startedAt,
    completedAt: output?.completedAt,
    raw: output?.raw,
    output: output && (output.structured ? (JSON.parse(output.raw) as Json) : output.raw),
    from: task.from?.run,
    stale: task.stale,
    error: task.error ?? (state.error?.task === task.name ? state.error : undefined),
  }
}

function taskWord(state: RunState, task: TaskState, abandoned: boolean): TaskWord {
  if (task.status === 'completed') return task.source ?? 'executed'
  if (task.status !== 'running') return task.status
  if (state.error?.task === task.name) return 'failed'
  return state.status === 'running' && !abandoned ? 'running' : 'started'
}
