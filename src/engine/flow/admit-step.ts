// Handles the steps that the function of a flow requests: gives up records that no longer fit, and delivers recorded
// results to the function.
import { RepriseError } from '../../base/errors.ts'
import { namesByGroup } from '../../journal/paths.ts'
import type { TaskState } from '../../journal/state/state.ts'
import { isSettled } from '../../journal/state/steps.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import { namesWords } from '../../text/words.ts'
import { cancelChild } from '../inbox/inbox.ts'
import type { Life } from '../life.ts'
import { inheritanceEntry } from '../plan/inheritance.ts'
import { Misfit, oldName, stepError, type Pass, type StepCall } from './pass.ts'

/** The inputs of a step that was restarted this often because of them probably contain the time or a random number. */
const restartLimit = 3

/** Decides what to do about a requested step: deliver what is recorded, continue it, or execute it. */
export async function admit(life: Life, pass: Pass, call: StepCall, pending: StepCall[]): Promise<void> {
  const { state } = life
  const { name } = call
  const old = oldName(state, pass, call)
  if (old !== undefined) await life.append([{ type: 'task.renamed', path: old, to: name }])
  const entry = 'wait' in call.work ? undefined : await inheritanceEntry(life, call.work)
  if (entry) await life.append([{ ...entry, after: call.after }])
  const step = state.tasks.get(name)
  const reasons = step ? pass.whyStale(call, step, 'inputs') : []
  if (!step) pass.addNew(call)
  else if (reasons.length === 0) warnOfInserted(life, pass, call, step)
  if (step && reasons.length > 0) await restart(life, step, reasons)
  else if (step && isSettled(step)) return pass.settle(call)
  if (step?.settled) pass.hold(call)
  pending.push(call)
}

/** Warns of new steps that come before a step whose record is used. */
function warnOfInserted({ state, crew }: Life, pass: Pass, call: StepCall, step: TaskState): void {
  const inserted = pass.takeInserted(call, step)
  if (inserted.length === 0) return
  const isLater = (name: string): boolean => (state.tasks.get(name)?.after ?? 0) >= (step.after ?? 0)
  const recorded = namesByGroup([step.name, ...pass.unrequested().filter(isLater)])
  const [steps, they] = inserted.length > 1 ? ['steps', 'they'] : ['step', 'it']
  const [are, were] = inserted.length > 1 ? ['are', 'were'] : ['is', 'was']
  const before = `${namesWords(recorded)} ${recorded.length > 1 ? 'were' : 'was'} recorded before ${they} ${were} there`
  const words = `${steps} ${namesWords(inserted)} ${are} new: ${before}; refresh executes what ${they} may change`
  crew.logger.warn(`run ${state.run}: ${words}`)
}

/** Gives up the record of a step whose inputs have changed, so that it is executed again. */
async function restart(life: Life, step: TaskState, because: readonly string[]): Promise<void> {
  const { state, crew, engine, tree, options } = life
  const details = { runId: state.run, task: step.name }
  const why = because.join('; ')
  if (options.changed === 'refuse')
    throw new RepriseError('DEFINITION_CHANGED', `step ${step.name} has changed since it was recorded: ${why}`, details)
  const { restarts = [] } = step
  if (restarts.filter((seq) => seq > (state.touched ?? 0)).length >= restartLimit) {
    const words = `step ${step.name} was executed ${restartLimit + 1} times, because each time ${why}; does its input contain the time, or a random number? use flow.now(), flow.random() or flow.uuid()`
    throw new RepriseError('DEFINITION_CHANGED', words, details)
  }
  for (const child of activeChildren(state, step.name)) await cancelChild(engine, tree, child.run)
  crew.logger.warn(`run ${state.run}: step ${step.name} is executed again: ${why}`)
  await life.append([{ type: 'task.invalidated', path: step.name, because }])
}

/** Gives the function the result of a settled step, once that is on disk. */
export async function deliver(life: Life, pass: Pass, call: StepCall, pending: StepCall[]): Promise<void> {
  const { state } = life
  await life.ready()
  const step = state.tasks.get(call.name) as TaskState
  if (step.status === 'failed' && step.error) {
    pass.deliver(step)
    return call.reject(stepError(state.run, call.name, step.error))
  }
  const { raw = '', structured = false } = step.output ?? {}
  let value: unknown
  try {
    value = step.timedOut ? undefined : await call.read(raw, structured, step)
  } catch (error) {
    if (!(error instanceof Misfit)) throw error
    if (step.source === 'edited') {
      const words = `the value that a person gave does not fit its schema: ${error.message}; edit it again`
      throw new RepriseError('INPUT_INVALID', words, { runId: state.run, task: step.name })
    }
    await restart(life, step, [`its result no longer fits its schema: ${error.message}`])
    pass.hold(call)
    pending.push(call)
    return
  }
  pass.deliver(step)
  call.resolve(value)
}
