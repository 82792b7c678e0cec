// How a pass ends: all steps wait, the function has returned or thrown, or it continues as a new run.
import { RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import { readJson, throughJson, type Json } from '../../journal/json.ts'
import { nextRunId } from '../../journal/paths.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import { namesWords } from '../../text/words.ts'
import { readRun } from '../../read/read-run.ts'
import { lastRun } from '../../read/row-summary.ts'
import { parseValue } from '../../schema/answer-schema.ts'
import { cancelChild, post } from '../inbox/inbox.ts'
import type { Life } from '../life.ts'
import { unlessAborted } from '../limits/time.ts'
import { queueRun } from '../run/create-run.ts'
import { callAfterKickoff } from '../run/after-task.ts'
import { withFailedTask } from '../run/end-run.ts'
import { suspension } from '../run/suspension.ts'
import type { NextInputs, Pass, StepCall } from './pass.ts'
import { endOfWait } from './wait.ts'

/** Returns the entry that suspends a run whose steps all wait. */
export async function flowSuspension(life: Life, waiting: ReadonlySet<StepCall>): Promise<NewEntry> {
  const { state } = life
  const calls = [...waiting]
  const times = calls.flatMap(({ name }) => endOfWait(state, name) ?? [])
  const entry = await suspension(
    life,
    calls.map(({ name }) => name),
    times,
  )
  if (entry.type !== 'run.suspended' || entry.reason !== 'parent') return entry
  if (calls.some(({ work }) => 'wait' in work && work.wait === 'event')) return { ...entry, reason: 'events' }
  // a failed step that waits for its retry counts as sleeping, too
  return times.length > 0 ? { ...entry, reason: 'sleeping' } : entry
}

/** Ends what is in progress after the function has returned, and returns the entry that completes the run. */
export async function finish(
  life: Life,
  pass: Pass,
  value: unknown,
  running: ReadonlyMap<StepCall, Promise<void>>,
): Promise<NewEntry & { readonly type: 'run.completed' }> {
  const { state, crew, signal, engine, tree } = life
  const json = value === undefined ? undefined : throughJson(value, crew.name)
  if (json?.ok === false) {
    const words = `flow ${crew.name} returned something that is not JSON: ${json.path} is ${json.found}`
    throw new RepriseError('TASK_FAILED', words, { runId: state.run })
  }
  const schema = crew.flow?.schema
  const read = schema ? await unlessAborted(parseValue(schema, json?.value ?? null), signal) : undefined
  if (read?.ok === false) {
    const words = `flow ${crew.name} returned something that does not fit its output: ${read.reason}`
    throw new RepriseError('OUTPUT_REFUSED', words, { runId: state.run })
  }
  // a `once` call is not stopped: whether it happened would be unknown
  for (const { work, stop } of running.keys())
    if ('wait' in work || work.code?.effect !== 'once') stop?.abort(new Error('the function of the flow has returned'))
  await Promise.allSettled(running.values())
  signal.throwIfAborted()
  if (life.failure) throw life.failure.error
  for (const name of pass.calls.keys())
    for (const child of activeChildren(state, name)) await cancelChild(engine, tree, child.run)
  await unlessAborted(callAfterKickoff(life, json?.value), signal)
  const left = pass.unrequested()
  if (left.length > 0) {
    const words = `run ${state.run}: flow ${crew.name} no longer requests recorded steps: ${namesWords(left)}`
    crew.logger.warn(words)
  }
  return { type: 'run.completed', ...defined({ value: json?.value }), ...(left.length > 0 ? { left } : {}) }
}

/**
 * Creates the run that continues this one, with the events that no step of this run has received. If an earlier process
 * has created it, sends only the events that it lacks. Returns its id.
 */
export async function continueAgain(life: Life, inputs: NextInputs): Promise<string> {
  const { state, crew, engine } = life
  const run = nextRunId(state.run)
  const origin = { previous: state.run, ...defined({ module: state.module }) }
  const events = [...state.events.values()].map(({ seq, name, raw, id = `${state.run} ${seq}`, by }) => {
    return { name, value: readJson(raw) as Json, id, ...defined({ by }) }
  })
  const entries = events.map((event): NewEntry => ({ type: 'event.received', ...event }))
  await life.ready()
  if (await queueRun(engine, crew, { run, ...inputs, priority: state.priority, origin, entries })) return run
  const { state: next } = await readRun(engine.store, run)
  if (next.previous !== state.run) {
    const words = `flow.again continues as run ${run}, but another run has that id; delete it, or resume this run elsewhere`
    throw new RepriseError('RUN_EXISTS', words, { runId: run })
  }
  // an earlier process created the run: later events go to the newest run that continues it, which may have ended
  for (const event of events.filter(({ id }) => !next.eventIds.has(id))) {
    try {
      await post(engine, await lastRun(engine.store, run), { type: 'event', ...event })
    } catch (error) {
      if (!RepriseError.isInstance(error) || error.code !== 'RUN_ENDED') throw error
      crew.logger.warn(`run ${state.run}: event ${event.name} is not received: ${error.facts}`)
    }
  }
  return run
}

/** Returns the error with which the run fails, and notes which steps a resume executes again. */
export function flowFailure(life: Life, pass: Pass, error: unknown): unknown {
  life.failedSteps = pass.openFailures(error)
  const step = pass.stepOf(error)
  return step === undefined ? error : withFailedTask(error, step)
}
