// The steps of flows. A step is a task that no crew declares: its record begins when the function of the flow requests
// it. The function receives results in the order in which they were first recorded, in every process: a result keeps
// its place, even if an edit or a new attempt changes its value.
import type { EntryOf, Envelope, Failure } from '../entries.ts'
import { voidAttempts } from './change-tasks.ts'
import type { RunState, TaskState } from './state.ts'

/** How a step of a flow was settled. */
export interface Settled {
  /** The entry that first settled it. */
  readonly place: number
  /** The time of the entry `changed`. `flow.now()` returns it after the function has received the result. */
  readonly at: string
  /** The entry that started the attempt from which the present value comes. */
  readonly began: number
  /** The entry that last gave it another value. */
  readonly changed: number
  /** The present value, as text. */
  readonly value: string
}

/** Notes that a step of a flow was settled. Does nothing for the tasks of crews. */
export function noteSettled(
  state: RunState,
  task: TaskState,
  { seq, at }: Pick<Envelope, 'seq' | 'at'>,
  { value, began = seq }: { readonly value: string; readonly began?: number | undefined },
): void {
  if (!state.flow) return
  const { settled: before } = task
  // an equal value changes nothing, not even the time: what the function does next stays the same
  const last = before?.value === value ? before : { changed: seq, at }
  task.settled = { place: before?.place ?? seq, at: last.at, began, changed: last.changed, value }
}

/** The text by which two failures are compared. */
export function failureValue({ code, message, name, data }: Failure): string {
  return JSON.stringify([code, message, name, data])
}

/** Prepares failed steps of a flow for another attempt. A child run that failed continues where it stopped. */
export function retrySteps(state: RunState, seq: number, names: readonly string[]): void {
  state.touched = seq
  for (const name of names) {
    const task = state.tasks.get(name)
    if (task?.status !== 'failed') continue
    const attempt = state.attempts.get(task.attempts.at(-1) ?? '')
    const continues = attempt?.child !== undefined
    if (continues) attempt.status = 'open'
    task.status = continues ? 'running' : 'pending'
    delete task.error
    // the function requested nothing after it received this failure, so the new result may get another place
    if (task.settled && task.settled.place > state.lastAfter) delete task.settled
  }
}

/** An event that was sent to a flow. */
export interface ReceivedEvent {
  readonly seq: number
  readonly name: string
  /** As JSON. */
  readonly raw: string
  readonly id?: string
  readonly by?: string
  readonly at: string
}

export function addEvent(state: RunState, { seq, at, name, value, id, by }: EntryOf<'event.received'>): void {
  const more = { ...(id === undefined ? {} : { id }), ...(by === undefined ? {} : { by }) }
  state.lastEvent = seq
  if (id !== undefined) state.eventIds.add(id)
  state.events.set(seq, { seq, at, name, raw: JSON.stringify(value), ...more })
}

/** Closes what is open when the function of a flow has returned. */
export function closeFlow(state: RunState): void {
  for (const task of state.tasks.values()) {
    if (task.status !== 'running') continue
    voidAttempts(state, task)
    task.status = 'left'
  }
}

/** Whether the attempt that the entry `began` started may have used an earlier value of the other step's result. */
export function isOutOfDate(began: number | undefined, { settled }: TaskState): boolean {
  return began !== undefined && settled !== undefined && settled.place < began && began < settled.changed
}

/** Whether a step has a result or a failure. */
export function isSettled({ status }: TaskState): boolean {
  return status === 'completed' || status === 'failed' || status === 'skipped'
}
