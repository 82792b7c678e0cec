// Finds the task that a person names by its name, its id, or the beginning of either. If the name is missing or
// ambiguous, the person at the terminal picks a task.
import type { Crew } from '../../crew/crew.ts'
import { findTask } from '../../crew/result/result.ts'
import type { Task } from '../../crew/task.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { taskOfItem } from '../../journal/paths.ts'
import { currentTasks } from '../../runs/task-view.ts'
import { UsageError } from '../exit-codes.ts'
import type { Invocation } from '../command.ts'
import { canAsk, terminalPerson } from '../input/ask-line.ts'
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

/** Like `chooseTask`, among the tasks that a run has now. */
export async function chooseRunTask(state: RunState, reference: string | undefined): Promise<TaskState> {
  const tasks = currentTasks(state).map((task) => {
    // an error about a task of a nested crew names the child run
    const child = task.attempts.map((path) => state.attempts.get(path)?.child).at(-1)
    return { name: task.name, id: task.id, description: task.description, child, task }
  })
  return (await chooseTask(tasks, reference, `run ${state.run}`)).task
}

/** Like `chooseTask`, among the tasks of a crew. Also takes an item of a task with `forEach`, by its whole name. */
export async function findCrewTask(crew: Crew, reference: string | undefined): Promise<Task> {
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
  if (listOfItem(crew, reference)) return true
  return (
    reference !== undefined && crew.tasks.some(({ name, id }) => name.startsWith(reference) || id.startsWith(reference))
  )
}

/** Returns the whole name of the task; undefined if none is given. */
export async function findTaskName(crew: Crew, reference: string | undefined): Promise<string | undefined> {
  return reference === undefined ? undefined : (await findCrewTask(crew, reference)).name
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
