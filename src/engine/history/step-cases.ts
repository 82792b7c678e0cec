// The cases of a backtest of a step of a flow. Today's function is called with what a run has recorded: that gives
// today's code and input of the step. Recorded results are used even if they are stale today, since an earlier run is
// what the step is tried on.
import { RepriseError } from '../../base/errors.ts'
import { explainChange } from '../../journal/describe.ts'
import { canonicalJson } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Store } from '../../stores/store.ts'
import type { ChildDefinition, CrewDefinition, FlowDefinition, TaskDefinition } from '../definition.ts'
import { inputFields, kindOf, type StepCall } from '../flow/pass.ts'
import { outputChange } from '../plan/inheritance.ts'
import { childOfStep, keysOf } from '../plan/plan-flow.ts'
import { runOutputs } from '../run/task-context.ts'
import type { DryPass } from '../plan/dry-pass.ts'
import { readCase, rootAddress, type PassedCase, type StoredCase } from './backtest-case.ts'

/** Calls the function of a flow with what a run has recorded, at least until it requests the step. */
export type PassOver = (
  crew: CrewDefinition,
  flow: FlowDefinition,
  run: string,
  step: string,
) => Promise<Pick<DryPass, 'state' | 'calls' | 'stale' | 'added' | 'warnings' | 'ended'>>

/** Where cases are looked for: a run, and a task in it. */
export interface CasePlace {
  readonly run: string
  readonly address: string
  /** The incarnation that the run must have. */
  readonly incarnation?: string | undefined
}

export interface CaseReader {
  readonly store: Store
  readonly passOver: PassOver
}

type Cases = readonly (StoredCase | PassedCase)[]

/** Reads the cases of a step, of all of its keys, or of a task within it. Rejects with OPTION_INVALID for a wait. */
export async function casesInFlow(
  reader: CaseReader,
  crew: CrewDefinition,
  flow: FlowDefinition,
  { run, address, incarnation }: CasePlace,
): Promise<Cases> {
  const [first = '', ...within] = address.split('/')
  const { runId } = rootAddress(run, first)
  const pass = await reader.passOver(crew, flow, run, first)
  const own = pass.state.incarnation
  if (incarnation !== undefined && own !== incarnation)
    return [{ runId, reason: `run ${run} was deleted and created again` }]
  const steps = keysOf(pass.state, first)
  if (steps.length === 0) {
    if (isWait(pass.calls.get(first))) throw waitRefused(first, pass.calls.get(first))
    return [{ runId, reason: `it has no step ${first}` }]
  }
  const cases = await Promise.all(
    steps.map(async (step): Promise<Cases> => {
      const { from } = pass.state.tasks.get(step) ?? {}
      if (from && from.incarnation !== own) {
        const place = { run: from.run, address: [step, ...within].join('/'), incarnation: from.incarnation }
        const origin = await casesInFlow(reader, crew, flow, place).catch(() => [])
        if (origin.length > 0) return origin
      }
      const found = await caseOfStep(reader.store, crew, pass, step)
      if ('reason' in found) return [found]
      return within.length === 0 ? [found] : casesWithin(reader, found, within.join('/'))
    }),
  )
  return cases.flat()
}

async function caseOfStep(
  store: Store,
  crew: CrewDefinition,
  { state, calls, stale, added, ended, warnings }: Awaited<ReturnType<PassOver>>,
  step: string,
): Promise<StoredCase | PassedCase> {
  const place = rootAddress(state.run, step)
  const passed = (reason: string): PassedCase => ({ runId: place.runId, task: place.address, reason })
  const known = state.tasks.get(step)
  const call = calls.get(step)
  if (isWait(call) || (!call && known?.wait !== undefined)) throw waitRefused(place.address, call, known?.wait)
  if (!known?.output) return { runId: place.runId, reason: `it has no output of ${place.address}` }
  if (!call) {
    const before = [...added.map(({ name }) => name), ...stale.keys()].filter((name) => name !== step)
    if (ended || before.length === 0) return passed(["today's code doesn't request it", ...warnings].join('; '))
    const why = stale.get(before[0] ?? '')?.join('; ') ?? 'of which the run has no result'
    return passed(`today's code requests ${before[0]} before it, ${why}`)
  }
  const work = call.work as TaskDefinition
  if (stale.has(step)) {
    const kinds = [
      kindOf(known.wait, state.attempts.get(known.attempts.at(-1) ?? '')?.child),
      kindOf(undefined, work.child),
    ]
    if (kinds[0] !== kinds[1]) return passed(`it was ${kinds[0]}, and is ${kinds[1]} now`)
  }
  if (work.carries) return passed('it continues a conversation, which a trial cannot')
  const { output } = known
  const { reasons } = outputChange(output, work, state.inputs, runOutputs(state))
  const today = work.fingerprint(state.inputs, runOutputs(state))
  const others = output.fingerprint ? explainChange(inputFields(output.fingerprint), inputFields(today)) : []
  const wording = others.length > 0 && work.child ? await changedWording(store, state, step, work.child) : []
  if (others.length > 0 && wording.length === 0)
    return known.from
      ? { runId: place.runId, reason: `its ${place.address} was made from other inputs, in a run that was deleted` }
      : passed(`today's code requests it with another input: ${others.join('; ')}`)
  const changes = [...reasons.filter((reason) => !others.includes(reason)), ...wording.map((name) => `${name} changed`)]
  return { ...place, state, crew: { ...crew, flow: undefined, tasks: [work] }, task: work, output, changes }
}

/** The cases of a task in the child run of a step. */
async function casesWithin(reader: CaseReader, step: StoredCase, address: string): Promise<Cases> {
  const { runId, state, task } = step
  const passed = (reason: string): Cases => [{ runId, reason }]
  const child = await childOfStep(reader.store, state, task.name)
  const crew = task.child?.crew
  if (!child || !crew) return passed(`its step ${step.address} has no child run`)
  if (crew.flow) return casesInFlow(reader, crew, crew.flow, { run: child.run, address })
  const found = crew.tasks.find(({ name }) => name === address)
  if (!found) return passed(`its step ${step.address} has no task ${address}`)
  if (found.forEach) return passed(`task ${address} has forEach, so its items cannot be compared over runs`)
  const read = await readCase(reader.store, child.run, crew, found)
  return typeof read === 'string' ? passed(read) : [read]
}

/**
 * The texts of today's code that the child run received as inputs, such as the prompt of an agent, if nothing else in
 * its inputs has changed. Otherwise empty.
 */
async function changedWording(
  store: Store,
  state: RunState,
  step: string,
  { wording = [], known }: ChildDefinition,
): Promise<readonly string[]> {
  const today = wording.length > 0 ? known({}) : undefined
  const child = today && (await childOfStep(store, state, step))
  if (!child) return []
  const before = child.given ?? child.inputs
  const names = [...new Set([...Object.keys(before), ...Object.keys(today)])]
  const changed = names.filter((name) => canonicalJson(before[name] ?? null) !== canonicalJson(today[name] ?? null))
  return changed.every((name) => wording.includes(name)) ? changed : []
}

function isWait(call: StepCall | undefined): boolean {
  return call !== undefined && 'wait' in call.work
}

function waitRefused(step: string, call: StepCall | undefined, wait?: 'sleep' | 'question' | 'event'): RepriseError {
  const kind = kindOf(call && 'wait' in call.work ? call.work.wait : wait, undefined)
  const words = `step ${step} is ${kind}, which executes nothing; backtest a step that calls a function or runs a crew`
  return new RepriseError('OPTION_INVALID', words)
}
