// Chooses the next task of a run: the first in the crew's order whose dependencies are done. A counter of open
// dependencies per task avoids a scan of all tasks after every step, which would slow down large crews. The state
// remains the truth: `next` first catches up with it, and counts again from scratch after a person invalidated a task.
// While the list of a task with `forEach` is open, its items are offered in its place, in the order of the list; when
// all are done, the task itself is offered again.
import type { RunState } from '../../journal/state/state.ts'
import { isDone } from '../../journal/state/tally.ts'
import type { CrewDefinition, TaskDefinition } from '../definition.ts'

export interface TaskScheduler {
  /**
   * Returns the first task or item that can be started, or the task of an open list whose items are done; the same task
   * until it is in progress or done.
   */
  next(): TaskDefinition | undefined
  /** Offers the items of a task. A person's edit closes all lists again, since it may change them. */
  openList(task: TaskDefinition, items: readonly TaskDefinition[]): void
  isOpen(task: TaskDefinition): boolean
  begin(task: TaskDefinition): void
  /** Notes that the task waits. Any new answer offers it again; the task checks whether the answer is for it. */
  wait(task: TaskDefinition): void
  /** Offers a waiting task again. */
  continue(name: string): void
  /** Returns the names of the waiting tasks. */
  waiting(): string[]
  /**
   * Returns the tasks done or undone since the last call, in the crew's order; all tasks on the first call. Items
   * follow, as far as their list is open.
   */
  changed(): readonly TaskDefinition[]
}

interface OpenList {
  readonly position: number
  readonly items: readonly TaskDefinition[]
}

/** Creates a scheduler that only starts tasks before position `end`. `running` has the names of tasks in progress. */
export function taskScheduler(
  state: RunState,
  crew: CrewDefinition,
  end: number,
  running: { has(name: string): boolean },
): TaskScheduler {
  const { tasks } = crew
  const { doneChanges } = state.tally
  const positions = positionsIn(crew)
  const inOrder = crew.process !== 'parallel'
  const dependents = new Map<string, number[]>()
  /** How many answers there were when a task began to wait. */
  const waiting = new Map<string, number>()
  /** Done tasks that are already counted. */
  const done = new Set<string>()
  /** How many open dependencies each task has, by position, not counting those implied by the crew's order. */
  let missing: number[] = []
  /** Sequential crews: the position of the first unfinished task that holds up all later ones. */
  let barrier = 0
  /** Positions of tasks that could start when they were added, in descending order. */
  let ready: number[] = []
  /** How many `doneChanges` were caught up with. */
  let seen = doneChanges.length
  /** How many `doneChanges` were returned by `changed`. */
  let reported: number | undefined
  let answers = countAnswers(state)
  /** By task. */
  const lists = new Map<string, OpenList>()
  /** Items of the lists that were opened in this life, by name. */
  const items = new Map<string, TaskDefinition>()
  /** Items that were done when their list was opened. */
  const unreported: TaskDefinition[] = []
  let { touched } = state

  const isDoneIn = (name: string): boolean => {
    const task = state.tasks.get(name)
    return task !== undefined && isDone(task)
  }
  const holdsUp = (task: TaskDefinition | undefined): boolean => inOrder && task?.async === false
  const isPassed = (task: TaskDefinition | undefined): boolean =>
    task !== undefined && (done.has(task.name) || !holdsUp(task))
  const dependencies = ({ context }: TaskDefinition): ReadonlySet<string> =>
    new Set(context.filter((name) => !holdsUp(tasks[positions.get(name) ?? -1])))

  const canStart = (position: number): boolean => {
    const name = tasks[position]?.name
    if (name === undefined || position >= end || position > barrier || missing[position] !== 0) return false
    return !done.has(name) && !running.has(name) && !lists.has(name) && !isWaiting(name)
  }

  const isWaiting = (name: string): boolean => (waiting.get(name) ?? -1) >= countAnswers(state)

  /** The first item of an open list that can be started, or the task of a list whose items are done and reported. */
  const nextOfLists = (before: number): TaskDefinition | undefined => {
    const open = [...lists.values()].filter(({ position }) => position < before)
    for (const { position, items: listed } of open.toSorted((a, b) => a.position - b.position)) {
      const left = listed.filter(({ name }) => !isDoneIn(name))
      const next = left.find(({ name }) => !running.has(name) && !isWaiting(name))
      if (next) return next
      if (left.length === 0 && unreported.length === 0 && reported === doneChanges.length) return tasks[position]
    }
    return undefined
  }

  /** Calls `forEach` again after an edit by a person. No task is in progress then. */
  const closeLists = (): void => {
    for (const { items: listed } of lists.values()) for (const { name } of listed) waiting.delete(name)
    lists.clear()
    recount()
  }

  const offer = (position: number | undefined): void => {
    if (position === undefined || !canStart(position)) return
    let [low, high] = [0, ready.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if ((ready[middle] as number) > position) low = middle + 1
      else high = middle
    }
    ready.splice(low, 0, position)
  }

  const recount = (): void => {
    done.clear()
    for (const { name } of tasks) if (isDoneIn(name)) done.add(name)
    for (const name of done) lists.delete(name)
    missing = tasks.map((task) => [...dependencies(task)].filter((name) => !done.has(name)).length)
    barrier = 0
    while (isPassed(tasks[barrier])) barrier += 1
    ready = [...tasks.keys()].filter(canStart).toReversed()
  }

  const noteDone = (name: string): void => {
    done.add(name)
    lists.delete(name)
    for (const position of dependents.get(name) ?? []) {
      missing[position] = (missing[position] as number) - 1
      offer(position)
    }
    while (isPassed(tasks[barrier])) offer(++barrier)
  }

  const resume = (name: string): void => {
    waiting.delete(name)
    offer(positions.get(name))
  }

  const catchUp = (): void => {
    const names = doneChanges.slice(seen)
    seen = doneChanges.length
    // a task that is done or undone no longer waits
    for (const name of names) waiting.delete(name)
    if (!names.every(isDoneIn)) recount()
    else for (const name of names) if (!done.has(name)) noteDone(name)
    for (const name of waiting.keys()) if (wasInvalidated(state, name)) resume(name)
    if (state.touched === touched) return
    touched = state.touched
    if (lists.size > 0) closeLists()
  }

  for (const [position, task] of tasks.entries()) {
    for (const name of dependencies(task)) {
      const others = dependents.get(name)
      if (others) others.push(position)
      else dependents.set(name, [position])
    }
  }
  recount()

  return {
    next() {
      catchUp()
      if (answers < countAnswers(state)) for (const name of waiting.keys()) offer(positions.get(name))
      answers = countAnswers(state)
      for (let position = ready.at(-1); position !== undefined; position = ready.at(-1)) {
        if (canStart(position)) return nextOfLists(position) ?? tasks[position]
        ready.pop()
      }
      return nextOfLists(tasks.length)
    },
    openList(task, listed) {
      lists.set(task.name, { position: positions.get(task.name) ?? 0, items: listed })
      for (const item of listed) {
        items.set(item.name, item)
        if (isDoneIn(item.name)) unreported.push(item)
      }
    },
    isOpen: ({ name }) => lists.has(name),
    begin: ({ name }) => void waiting.delete(name),
    wait: ({ name }) => void waiting.set(name, countAnswers(state)),
    continue: resume,
    waiting() {
      catchUp()
      return [...waiting.keys()]
    },
    changed() {
      const names = doneChanges.slice(reported ?? doneChanges.length)
      const found = reported === undefined ? tasks : tasksNamed(crew, names)
      reported = doneChanges.length
      return [...found, ...unreported.splice(0), ...names.flatMap((name) => items.get(name) ?? [])]
    },
  }
}

/** Whether a person invalidated the task while it waited, so that it starts again. */
function wasInvalidated({ tasks, attempts }: RunState, name: string): boolean {
  return attempts.get(tasks.get(name)?.attempts.at(-1) ?? '')?.status === 'void'
}

/** Counts the questions that are answered or no longer need an answer. */
function countAnswers({ questions, unanswered }: RunState): number {
  return questions.size - unanswered.size
}

// The order of tasks, as the crew declares it.

/** Returns the tasks that must be done before this one starts, in the crew's order. Its condition sees these. */
export function waitsFor(crew: CrewDefinition, task: TaskDefinition): readonly TaskDefinition[] {
  if (crew.process === 'parallel') return tasksNamed(crew, task.context)
  const context = new Set(task.context)
  const position = positionsIn(crew).get(task.name) ?? 0
  return crew.tasks.slice(0, position).filter(({ name, async }) => !async || context.has(name))
}

/** Returns the tasks with these names, in the crew's order. */
export function tasksNamed(crew: CrewDefinition, names: readonly string[]): readonly TaskDefinition[] {
  const positions = positionsIn(crew)
  const found = [...new Set(names)].flatMap((name) => positions.get(name) ?? [])
  return found.toSorted((a, b) => a - b).map((position) => crew.tasks[position] as TaskDefinition)
}

const positionsByCrew = new WeakMap<CrewDefinition, ReadonlyMap<string, number>>()

/** Returns the positions of a crew's tasks, by name. Cached per crew. */
export function positionsIn(crew: CrewDefinition): ReadonlyMap<string, number> {
  const cached = positionsByCrew.get(crew)
  if (cached) return cached
  const positions = new Map(crew.tasks.map(({ name }, position) => [name, position]))
  positionsByCrew.set(crew, positions)
  return positions
}
