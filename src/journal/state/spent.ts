// The usage of the attempts at a task, and the model calls that it sums up.
import type { Usage } from '../entries.ts'
import { isNestedAttempt } from '../paths.ts'
import { addTo, noUsage, type MutableUsage, type RunState, type TaskState } from './state.ts'

/** The usage of all attempts at a task in this run. */
export function spentOn(state: RunState, task: TaskState): Usage {
  const sum = { ...noUsage }
  for (const { usage } of modelCalls(state, task)) addTo(sum, usage)
  return sum
}

/** One model call; for a child run, all its calls to one model. */
export interface ModelCalls {
  readonly model: string
  readonly usage: Usage
  readonly at: string
  /** Made by the task's own agent, and not by a coworker, a judge or a child run. */
  readonly own: boolean
}

/** All model calls of the attempts at a task in this run, with delegations, judges and child runs. */
export function modelCalls(state: RunState, { attempts, nested }: TaskState): ModelCalls[] {
  return [...attempts, ...nested].flatMap((path) => {
    const attempt = state.attempts.get(path)
    if (!attempt) return []
    const { request, startedAt, turns, lost, spent = {} } = attempt
    const own = !isNestedAttempt(path)
    // a function's turn isn't a model call, and has no price
    const replies = turns.map(({ reply }) => reply).filter(({ usage }) => usage.calls > 0)
    return [
      ...[...replies, ...lost].map(({ usage, at }) => ({ model: request.model, usage, at, own })),
      ...Object.entries(spent).map(([model, usage]) => ({ model, usage, at: startedAt, own: false })),
    ]
  })
}

/** The usage of runs, by model. */
export function spentByModel(...states: readonly RunState[]): { [model: string]: Usage } {
  const sums = new Map<string, MutableUsage>()
  const calls = states.flatMap((state) => [...state.tasks.values()].flatMap((task) => modelCalls(state, task)))
  for (const { model, usage } of calls) {
    const sum = sums.get(model) ?? { ...noUsage }
    sums.set(model, sum)
    addTo(sum, usage)
  }
  return Object.fromEntries(sums)
}
