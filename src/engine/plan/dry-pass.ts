// A dry pass: calls the function of a flow with recorded results. Writes nothing, and executes no step. Plans ask what
// the function would request; backtests, what it requests of an earlier run.
import { createNotifier } from '../../base/notifier.ts'
import { messageOf } from '../../base/errors.ts'
import { renameTasks, withTaskChanges } from '../../journal/state/change-tasks.ts'
import { isSettled } from '../../journal/state/steps.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import type { CrewDefinition, FlowDefinition, World } from '../definition.ts'
import { Misfit, oldName, startPass, stepError, type Compared, type PassEnd, type StepCall } from '../flow/pass.ts'

/** What the function of a flow requests if nothing is executed. Until it is disposed, its function may be called. */
export interface DryPass extends Disposable {
  /** The recorded state, in which renamed steps have their new names. */
  readonly state: RunState
  /** All requested steps, by name. */
  readonly calls: ReadonlyMap<string, StepCall>
  /** Recorded steps whose result the function received. */
  readonly fresh: ReadonlySet<string>
  /** Recorded steps whose result can't be used, and why. */
  readonly stale: ReadonlyMap<string, readonly string[]>
  /** Requested steps without a result. */
  readonly added: readonly StepCall[]
  /** How the function ended, if it did. */
  readonly ended: PassEnd | undefined
  readonly warnings: readonly string[]
}

interface DryOptions {
  readonly compared: Compared
  /** The pass stops where the function requests this step. */
  readonly stopAt?: string
}

/** The function may wait this long for something that is not a step. */
const dryLimitMs = 5_000

/** Calls the function of the flow. */
export async function dryPass(
  world: World,
  crew: CrewDefinition,
  flow: FlowDefinition,
  recorded: RunState,
  { compared, stopAt }: DryOptions,
): Promise<DryPass> {
  // a copy: steps are renamed in it
  const state = withTaskChanges(recorded, {})
  const stop = new AbortController()
  const waker = createNotifier()
  const pass = startPass({ state, crew, signal: stop.signal, waker }, flow)
  const fresh = new Set<string>()
  const stale = new Map<string, readonly string[]>()
  const added: StepCall[] = []
  const until = world.monotonic() + dryLimitMs
  const drop = (): void => {
    pass.drop()
    stop.abort(new Error('the dry pass is over'))
  }
  try {
    for (;;) {
      await world.turn()
      for (const call of pass.requested.splice(0)) {
        const old = oldName(state, pass, call)
        if (old !== undefined) renameTasks(state, { [old]: call.name })
        const step = state.tasks.get(call.name)
        const reasons = step && pass.whyStale(call, step, compared)
        if (!step || !isSettled(step)) added.push(call)
        else if (reasons && reasons.length > 0) stale.set(call.name, reasons)
        else pass.settle(call)
      }
      if (stopAt !== undefined && pass.calls.has(stopAt)) break
      const next = pass.next(new Map())
      if (next) {
        const step = state.tasks.get(next.name) as TaskState
        const { raw = '', structured = false } = step.output ?? {}
        try {
          const value = step.timedOut || step.status === 'failed' ? undefined : await next.read(raw, structured, step)
          pass.deliver(step)
          fresh.add(next.name)
          if (step.status === 'failed' && step.error) next.reject(stepError(state.run, next.name, step.error))
          else next.resolve(value)
        } catch (error) {
          if (!(error instanceof Misfit)) throw error
          stale.set(next.name, [`its result no longer fits its schema: ${error.message}`])
        }
        continue
      }
      if (pass.ended) break
      const isWaiting = stale.size + added.length > 0
      if (isWaiting || world.monotonic() > until) break
      await world.sleep(5, stop.signal)
    }
    const { ended } = pass
    const isWaiting = stale.size + added.length > 0 || (stopAt !== undefined && pass.calls.has(stopAt))
    const warnings = ended && 'error' in ended ? [`flow ${crew.name} fails: ${redact(messageOf(ended.error))}`] : []
    if (!ended && !isWaiting)
      warnings.push(`flow ${crew.name} waits for something that is not a step; what follows is unknown`)
    return { state, calls: pass.calls, fresh, stale, added, ended, warnings, [Symbol.dispose]: drop }
  } catch (error) {
    drop()
    throw error
  }
}
