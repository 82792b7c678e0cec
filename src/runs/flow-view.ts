// Steps of a flow as run views show them: in the order of their results, as groups of the same name, and what the flow
// waits for.
import type { Json } from '../journal/json.ts'
import { readJson } from '../journal/json.ts'
import { groupName } from '../journal/paths.ts'
import { taskViewStatus, type TaskViewStatus } from './status.ts'
import type { AttemptState, RunState, TaskState } from '../journal/state/state.ts'

type WaitKind = 'sleep' | 'question' | 'event'

/** What a view shows of a step besides what it shows of every task. */
export interface StepFacts {
  /** The step whose result came last before this one was requested. Undefined for the first steps. */
  readonly after: string | undefined
  /** The declared input. */
  readonly input: Json | undefined
  /** What the step waits for, if it executes nothing. */
  readonly wait: WaitKind | undefined
  /** When its sleep ends, or the time for its answer or event. */
  readonly until: string | undefined
}

export interface OpenWait {
  readonly step: string
  readonly wait: WaitKind
  /** The name of the event that it waits for. */
  readonly event: string | undefined
  readonly until: string | undefined
}

/** An event that the run has received, and no step has taken yet. */
export interface UntakenEvent {
  /** Its entry. */
  readonly seq: number
  readonly name: string
  readonly value: Json
  readonly id: string | undefined
  readonly by: string | undefined
  readonly at: string
}

export interface FlowFacts {
  /** Flows: the steps that wait now. */
  readonly waits: readonly OpenWait[] | undefined
  /** Flows: the received events that no step has taken yet. */
  readonly events: readonly UntakenEvent[] | undefined
  /** Flows: recorded steps that the function no longer requested before it returned. */
  readonly left: readonly string[] | undefined
}

export function flowFacts(state: RunState): FlowFacts {
  if (!state.flow) return { waits: undefined, events: undefined, left: undefined }
  const waiting = state.status === 'completed' || state.status === 'cancelled' ? [] : [...state.tasks.values()]
  return {
    waits: waiting.flatMap(({ name, status, wait, until }) =>
      status !== 'running' || wait === undefined
        ? []
        : [{ step: name, wait, event: wait === 'event' ? groupName(name) : undefined, until }],
    ),
    events: [...state.events.values()].map(({ seq, name, raw, id, by, at }) => {
      return { seq, name, value: readJson(raw) as Json, id, by, at }
    }),
    left: state.left ?? [],
  }
}

/** Steps in the order of their results, then those without one in the order in which they were requested. */
export function inOrder(steps: readonly TaskState[]): TaskState[] {
  return steps.toSorted((a, b) => (a.settled?.place ?? Infinity) - (b.settled?.place ?? Infinity) || 0)
}

/** Finds the step whose result has a place. */
export type FindAtPlace = (place: number) => string | undefined

/** For views of many steps. */
export function stepsByPlace({ tasks }: Pick<RunState, 'tasks'>): FindAtPlace {
  const names = new Map([...tasks.values()].flatMap(({ name, settled }) => (settled ? [[settled.place, name]] : [])))
  return (place) => names.get(place)
}

export function stepFacts(
  state: RunState,
  step: TaskState,
  find: FindAtPlace = findAtPlace(state),
): StepFacts | undefined {
  if (!state.flow) return undefined
  const attempt: AttemptState | undefined = state.attempts.get(step.attempts.at(-1) ?? '')
  const { after = 0, wait, until } = step
  return { after: find(after), input: attempt?.input, wait, until }
}

function findAtPlace({ tasks }: RunState): FindAtPlace {
  return (place) => {
    for (const { name, settled } of tasks.values()) if (settled?.place === place) return name
    return undefined
  }
}

/** The steps of one name. */
export interface StepGroup {
  readonly name: string
  /** The only step, if it has no key. */
  readonly single: boolean
  /** The status of the only step. Undefined for several. */
  readonly status: TaskViewStatus | undefined
  readonly total: number
  readonly done: number
  readonly failed: number
  /** Steps in progress. */
  readonly running: number
  /** Steps that wait for a time, an answer or an event. */
  readonly waiting: number
  /** Groups whose results came last before one of these steps was requested. */
  readonly after: readonly string[]
  readonly startedAt: string | undefined
  /** When the last result was recorded. */
  readonly settledAt: string | undefined
}

interface GroupFacts {
  readonly state: RunState
  readonly held: boolean
  readonly questions: readonly { readonly path: string }[]
}

/** How many predecessors a group names at most. */
const mostAfter = 5

/** Groups the steps of a flow by name, in the order of the first result of each. */
export function stepGroups({ state, held, questions }: GroupFacts, steps: readonly TaskState[]): StepGroup[] {
  const places = stepsByPlace(state)
  const groups = new Map<string, { -readonly [K in keyof StepGroup]: StepGroup[K] } & { after: string[] }>()
  for (const { name, status, wait, startedAt, settled, after = 0 } of steps) {
    const key = groupName(name)
    let group = groups.get(key)
    if (!group) {
      const counts = { total: 0, done: 0, failed: 0, running: 0, waiting: 0 }
      const none = { status: undefined, startedAt: undefined, settledAt: undefined }
      group = { name: key, single: key === name, ...counts, ...none, after: [] }
      groups.set(key, group)
    }
    group.total += 1
    if (key !== name) group.single = false
    if (status === 'completed') group.done += 1
    else if (status === 'failed') group.failed += 1
    else if (status === 'running') group[wait === undefined ? 'running' : 'waiting'] += 1
    const before = groupName(places(after) ?? '')
    if (before !== '' && !group.after.includes(before) && group.after.length < mostAfter) group.after.push(before)
    if (startedAt !== undefined && !(group.startedAt !== undefined && group.startedAt <= startedAt))
      group.startedAt = startedAt
    if (settled && !(group.settledAt !== undefined && group.settledAt >= settled.at)) group.settledAt = settled.at
  }
  for (const group of groups.values()) {
    const only = group.single ? state.tasks.get(group.name) : undefined
    if (only) group.status = taskViewStatus(state, only, held, questions)
  }
  return [...groups.values()]
}
