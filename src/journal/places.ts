// Where an entry belongs, found by its path. What a person removed by hand is made up for, so that what is still there is not
// forgotten: above all not a call that must not be made twice.
import type { Entry, EntryOf } from './entries.ts'
import { isNested, parentPath, taskOf } from './paths.ts'
import { noUsage, type AttemptState, type CallState, type RunState, type TaskState } from './state.ts'

/** The attempt of a turn. One whose start was removed by hand is given up, but what it did is not forgotten. */
export function attemptAt(state: RunState, { path = '', seq, at }: Entry): AttemptState {
  const place = parentPath(path)
  let attempt = state.attempts.get(place)
  if (!attempt) {
    const request = { instructions: '', message: '', tools: [], model: '', settings: {} }
    attempt = {
      path: place,
      seq,
      request,
      fingerprint: {},
      agent: '',
      startedAt: at,
      status: 'void',
      accepted: [],
      turns: [],
    }
    state.attempts.set(place, attempt)
    const task = taskAt(state, place)
    const list = isNested(place) ? task.nested : task.attempts
    list.push(place)
  }
  return attempt
}

/** A call whose turn was removed by hand. */
export function orphan(state: RunState, entry: EntryOf<'tool.called'>): CallState {
  const path = entry.path ?? ''
  const request = { type: 'call', id: '', tool: entry.tool, input: entry.input ?? null } as const
  const call: CallState = { path, request, times: 0, questions: [] }
  const turn = parentPath(path)
  const reply = {
    ...entry,
    type: 'model.replied',
    path: turn,
    startedAt: entry.at,
    parts: [request],
    usage: noUsage,
    finish: '',
  } as const
  const { turns } = attemptAt(state, reply)
  const beside = turns.findLast((candidate) => candidate.path === turn)
  if (beside) beside.calls.push(call)
  else turns.push({ path: turn, reply, calls: [call] })
  return call
}

/** The task that a path belongs to. One that nobody declared (its line was removed by hand) is made up from its name. */
export function taskAt(state: RunState, path: string | undefined): TaskState {
  const name = taskOf(path ?? '')
  let task = state.tasks.get(name)
  if (!task)
    state.tasks.set(name, (task = { name, id: '', description: '', status: 'pending', attempts: [], nested: [] }))
  return task
}

export function callAt(state: RunState, path: string | undefined): CallState | undefined {
  if (path === undefined) return undefined
  const turn = parentPath(path)
  return state.attempts
    .get(parentPath(turn))
    ?.turns.findLast((candidate) => candidate.path === turn)
    ?.calls.find((call) => call.path === path)
}
