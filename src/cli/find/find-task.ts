// Finds the task that a person names by its name, its id, or the beginning of either. If the name is missing or
// ambiguous, the person at the terminal picks a task.
import type { Crew } from '../../crew/crew.ts'
import { findTask } from '../../crew/result/result.ts'
import type { Task } from '../../crew/task.ts'
import { RepriseError } from '../../base/errors.ts'
import type { TaskState } from '../../journal/state/state.ts'
import { taskOfItem } from '../../journal/paths.ts'
import { readRun } from '../../read/read-run.ts'
import { currentTasks } from '../../runs/task-view.ts'
import type { Store } from '../../stores/store.ts'
import { UsageError } from '../exit-codes.ts'
import type { Invocation } from '../command.ts'
import { canAsk, terminalPerson } from '../input/ask-line.ts'
import type { OutputTarget } from '../input/inputs.ts'
import { pick } from '../input/pick.ts'
import { someNames } from '../../text/words.ts'

interface NamedTask {
  readonly name: string
  readonly id: string
  readonly description?: string
}

/** Rejects with TASK_NOT_FOUND, or with a UsageError if the name is missing or ambiguous without a terminal. */
async function chooseTask<T extends NamedTask>(
  tasks: readonly T[],
  reference: string | undefined,
  where: string,
): Promise<T> {
  const begin = reference ?? ''
  const matches = tasks.filter(({ name, id }) => name.startsWith(begin) || id.startsWith(begin))
  if (
    reference !== undefined &&
    (matches.length === 0 || tasks.some(({ name, id }) => name === reference || id === reference))
  )
    return findTask(tasks, reference, where)
  const [only] = matches
  if (only && matches.length === 1 && begin !== '') return only
  const names = someNames(matches.map(({ name }) => name))
  if (!canAsk()) {
    const what = begin === '' ? 'no task is named' : `${matches.length} tasks of ${where} begin with ${begin}`
    throw new UsageError(`${what}; give the name of one: ${names}`)
  }
  const choices = matches.map((task) => ({ value: task, label: task.name, note: task.description ?? '' }))
  const picked = await pick(`Which task of ${where}?`, choices, terminalPerson())
  if (picked) return picked
  throw new UsageError(`no task was picked; name one: ${names}`)
}

export interface RunTask {
  /** The run that has the task: the named one, or a child run of it. */
  readonly run: string
  readonly task: TaskState
  /** The task as seen from the named run: `chapter[3]/write`. */
  readonly address: string
}

/**
 * Like `chooseTask`, among the tasks that a run has now. `research/facts` is a task of the child run of task research,
 * of the run that executed it.
 */
export async function chooseRunTask(store: Store, run: string, reference: string | undefined): Promise<RunTask> {
  const { state } = await readRun(store, run)
  const [first, ...rest] = reference?.split('/') ?? []
  const task = await chooseTask(currentTasks(state), first, `run ${run}`)
  const { name, attempts, from } = task
  if (rest.length === 0) return { run, task, address: name }
  if (attempts.length === 0 && from) return chooseRunTask(store, from.run, [name, ...rest].join('/'))
  const child = attempts.map((path) => state.attempts.get(path)?.child).findLast((each) => each !== undefined)
  if (child === undefined) throw noChildRun(run, name)
  const found = await chooseRunTask(store, child, rest.join('/'))
  return { ...found, address: `${name}/${found.address}` }
}

function noChildRun(run: string, task: string): RepriseError {
  const words = `task ${task} of run ${run} has no child run, so it has no tasks of its own`
  return new RepriseError('TASK_NOT_FOUND', words, { runId: run })
}

/**
 * Finds the task whose output a person gives. Of a flow: a recorded step, or a task within it. If it returned a text,
 * it takes a text, otherwise JSON or a text.
 */
export async function findOutputTarget(
  crew: Crew,
  store: Store,
  run: () => Promise<string>,
  reference: string | undefined,
): Promise<OutputTarget> {
  if (!isFlow(crew)) return findCrewTask(crew, reference)
  const { run: owner, task, address } = await chooseRunTask(store, await run(), reference)
  const isText = task.output?.structured === false
  return { name: address, recorded: { run: owner, task: task.name }, schema: task.output?.structured, isStep: !isText }
}

function isFlow(crew: Crew): boolean {
  return crew.describe().flow
}

/** Like `chooseTask`, among the tasks of a crew. Also takes an item of a task with `forEach`, by its whole name. */
async function findCrewTask(crew: Crew, reference: string | undefined): Promise<Task> {
  const list = listOfItem(crew, reference)
  if (list) return Object.assign({}, list, { name: reference, forEach: undefined })
  return chooseTask(crew.tasks, reference, `crew ${crew.name}`)
}

/** The task with `forEach` in the name of an item, `chapter[c7]`. Whether a run has the item is not known here. */
function listOfItem(crew: Crew, reference = ''): Task | undefined {
  return crew.tasks.find(({ name, forEach }) => forEach && name === taskOfItem(reference))
}

/** Whether the name or id of one of the crew's tasks begins with `reference`. */
export function hasTask(crew: Crew, reference: string | undefined): boolean {
  if (isFlow(crew) || listOfItem(crew, reference)) return true
  return (
    reference !== undefined && crew.tasks.some(({ name, id }) => name.startsWith(reference) || id.startsWith(reference))
  )
}

/** Returns the whole name of the task. The steps of a flow are found by the verb that is called with their name. */
export async function findTaskName(crew: Crew, reference: string | undefined): Promise<string> {
  if (!isFlow(crew)) return (await findCrewTask(crew, reference)).name
  if (reference !== undefined) return reference
  throw new UsageError(`no step of flow ${crew.name} is named; give its name, such as pay[c7]`)
}

/** Like `findTaskName`; undefined if no task is named. */
export async function findOptionalTask(crew: Crew, reference: string | undefined): Promise<string | undefined> {
  return reference === undefined ? undefined : findTaskName(crew, reference)
}

/**
 * Returns the task that `backtest note` or `replay -t note` names, before the crew is loaded. Throws a UsageError if
 * several are named, or if none is and there is no terminal.
 */
export function namedTask({
  args,
  options,
}: Invocation<{ task?: string; taskId?: string; run?: string | readonly string[] }>): string | undefined {
  const given = [args[0], options.task, options.taskId].filter((each) => each !== undefined)
  if (given.length > 1) throw new UsageError(`two tasks are named, ${given.join(' and ')}; name one`)
  if (given.length === 0 && !canAsk()) {
    const [run = 'latest'] = [options.run ?? []].flat()
    throw new UsageError('no task is named; give its name or id', {
      next: { type: 'command', to: 'see them', words: ['show', '--tasks'], values: [run] },
    })
  }
  return given[0]
}
