// Chooses the next task of a run: the first in the crew's order whose dependencies are done. Each task has a counter of
// open dependencies, because a scan of all tasks after every step would slow down large crews. The state remains the
// truth: `next` first catches up with it, and counts everything again when a task was undone (a person invalidated it).
import type { RunState } from '../../journal/state/state.ts'
import { isDone } from '../../journal/state/tally.ts'
import type { CrewDefinition, TaskDefinition } from '../definition.ts'

interface TaskScheduler {
  /** The first task that can be started; the same one until it is in progress or done. */
  next(): TaskDefinition | undefined
  begin(task: TaskDefinition): void
  /** The task waits for an answer. Any new answer offers it again; the task checks whether it is the right one. */
  wait(task: TaskDefinition): void
  /** Offers a waiting task again. */
  continue(name: string): void
  /** Names of the waiting tasks. */
  waiting(): string[]
  /** The tasks done or undone since the last call, in the crew's order; all tasks on the first call. */
  turned(): readonly TaskDefinition[]
}

/** Only tasks before position `end` are started. `running` has the names of tasks in progress. */
export function taskScheduler(
  state: RunState,
  crew: CrewDefinition,
  end: number,
  running: { has(name: string): boolean },
): TaskScheduler {
  const { tasks } = crew
  const { turns } = state.tally
  const positions = positionsIn(crew)
  const inOrder = crew.process !== 'parallel'
  const dependents = new Map<string, number[]>()
  /** How many answers there were when a task began to wait. */
  const waiting = new Map<string, number>()
  /** Done tasks that are already counted. */
  const done = new Set<string>()
  /** By position: how many open dependencies the task has, not counting those implied by the crew's order. */
  let missing: number[] = []
  /** In a sequential crew: the first unfinished task that holds up all later ones. */
  let barrier = 0
  /** Positions of tasks that could start when they were added, in descending order. */
  let ready: number[] = []
  let noticed = turns.length
  let told: number | undefined
  let answers = countAnswers(state)

  const isDoneIn = (name: string): boolean => {
    const task = state.tasks.get(name)
    return task !== undefined && isDone(task)
  }
  const holdsUp = (task: TaskDefinition | undefined): boolean => inOrder && task?.async === false
  const isPassed = (task: TaskDefinition | undefined): boolean =>
    task !== undefined && (done.has(task.name) || !holdsUp(task))
  const namesFor = ({ context }: TaskDefinition): ReadonlySet<string> =>
    new Set(context.filter((name) => !holdsUp(tasks[positions.get(name) ?? -1])))

  const canStart = (position: number): boolean => {
    const name = tasks[position]?.name
    if (name === undefined || position >= end || position > barrier || missing[position] !== 0) return false
    return !done.has(name) && !running.has(name) && (waiting.get(name) ?? -1) < countAnswers(state)
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

  const countAgain = (): void => {
    done.clear()
    for (const { name } of tasks) if (isDoneIn(name)) done.add(name)
    missing = tasks.map((task) => [...namesFor(task)].filter((name) => !done.has(name)).length)
    barrier = 0
    while (isPassed(tasks[barrier])) barrier += 1
    ready = [...tasks.keys()].filter(canStart).toReversed()
  }

  const notice = (name: string): void => {
    done.add(name)
    for (const position of dependents.get(name) ?? []) {
      missing[position] = (missing[position] as number) - 1
      offer(position)
    }
    while (isPassed(tasks[barrier])) offer(++barrier)
  }

  const goOn = (name: string): void => {
    waiting.delete(name)
    offer(positions.get(name))
  }

  const catchUp = (): void => {
    const names = turns.slice(noticed)
    noticed = turns.length
    // done or undone, a task no longer waits
    for (const name of names) waiting.delete(name)
    if (!names.every(isDoneIn)) countAgain()
    else for (const name of names) if (!done.has(name)) notice(name)
    for (const name of waiting.keys()) if (wasInvalidated(state, name)) goOn(name)
  }

  for (const [position, task] of tasks.entries()) {
    for (const name of namesFor(task)) {
      const others = dependents.get(name)
      if (others) others.push(position)
      else dependents.set(name, [position])
    }
  }
  countAgain()

  return {
    next() {
      catchUp()
      if (answers < countAnswers(state)) for (const name of waiting.keys()) offer(positions.get(name))
      answers = countAnswers(state)
      for (let position = ready.at(-1); position !== undefined; position = ready.at(-1)) {
        if (canStart(position)) return tasks[position]
        ready.pop()
      }
      return undefined
    },
    begin: ({ name }) => void waiting.delete(name),
    wait: ({ name }) => void waiting.set(name, countAnswers(state)),
    continue: goOn,
    waiting() {
      catchUp()
      return [...waiting.keys()]
    },
    turned() {
      const found = told === undefined ? tasks : tasksNamed(crew, turns.slice(told))
      told = turns.length
      return found
    },
  }
}

/** Whether a person invalidated the task while it waited, so that it starts again. */
function wasInvalidated({ tasks, attempts }: RunState, name: string): boolean {
  return attempts.get(tasks.get(name)?.attempts.at(-1) ?? '')?.status === 'void'
}

/** How many questions are answered or no longer need an answer. */
function countAnswers({ questions, unanswered }: RunState): number {
  return questions.size - unanswered.size
}

// The order of tasks, only from what the crew declares.

/** The tasks that must be done before this one starts, in the crew's order. Its condition sees exactly these. */
export function waitsFor(crew: CrewDefinition, task: TaskDefinition): readonly TaskDefinition[] {
  if (crew.process === 'parallel') return tasksNamed(crew, task.context)
  const given = new Set(task.context)
  const position = positionsIn(crew).get(task.name) ?? 0
  return crew.tasks.slice(0, position).filter(({ name, async }) => !async || given.has(name))
}

/** In the crew's order. */
export function tasksNamed(crew: CrewDefinition, names: readonly string[]): readonly TaskDefinition[] {
  const positions = positionsIn(crew)
  const found = [...new Set(names)].flatMap((name) => positions.get(name) ?? [])
  return found.toSorted((a, b) => a - b).map((position) => crew.tasks[position] as TaskDefinition)
}

const known = new WeakMap<CrewDefinition, ReadonlyMap<string, number>>()

/** By name; cached per crew. */
export function positionsIn(crew: CrewDefinition): ReadonlyMap<string, number> {
  const there = known.get(crew)
  if (there) return there
  const positions = new Map(crew.tasks.map(({ name }, position) => [name, position]))
  known.set(crew, positions)
  return positions
}
