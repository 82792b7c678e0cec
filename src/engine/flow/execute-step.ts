// Executes one step of a flow: a function, a child run or a wait. A failure is recorded, and tried again if the step
// says so. The function of the flow may stop the step by its signal.
import { messageOf } from '../../base/errors.ts'
import type { AttemptState, TaskState } from '../../journal/state/state.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import type { TaskDefinition } from '../definition.ts'
import { cancelChild } from '../inbox/inbox.ts'
import type { Life } from '../life.ts'
import { withFailedTask } from '../run/end-run.ts'
import { executeTask } from '../task/execute-task.ts'
import { failTask, isTaskError } from '../task/fail-task.ts'
import type { StepCall } from './pass.ts'
import { endOfWait, executeWait } from './wait.ts'

/** Executes a step, or continues it. Rejects if the run can't go on; a failure of the step itself is recorded. */
export async function executeStep(life: Life, call: StepCall, stop: AbortSignal): Promise<'settled' | 'suspended'> {
  const { work, after, name } = call
  const never = new AbortController().signal
  const isOnce = !('wait' in work) && work.code?.effect === 'once'
  // a `once` call is not stopped: whether it happened would be unknown
  const signal = (isOnce && isCalled(life, name) ? never : call.signal) ?? never
  const own: Life = { ...life, signal: AbortSignal.any([life.signal, stop, isOnce ? never : signal]) }
  const isStopped = (): boolean => signal.aborted && !life.signal.aborted && !stop.aborted
  if ('wait' in work) {
    if (isStopped()) return failStopped(life, name, signal)
    return (await executeWait(own, call, work)) === 'suspended' ? 'suspended' : 'settled'
  }
  const task = { ...work, started: { ...work.started, after } }
  for (;;) {
    if (isStopped()) return failStopped(life, name, signal)
    if (((await timeToRetry(life, call)) ?? 0) > 0) return 'suspended'
    try {
      if ((await tryStep(own, task)) === 'suspended') return 'suspended'
    } catch (error) {
      if (!isStopped()) throw error
      continue
    }
    const { status } = life.state.tasks.get(task.name) as TaskState
    // otherwise the step is retried, and its retry may be due already
    if (status !== 'running') return 'settled'
  }
}

/** Makes one attempt at a step. */
async function tryStep(life: Life, task: TaskDefinition): Promise<'ended' | 'suspended'> {
  try {
    return (await executeTask(life, task)) === 'suspended' ? 'suspended' : 'ended'
  } catch (error) {
    if (life.signal.aborted) throw error
    if (lastAttempt(life, task.name)?.status !== 'failed') {
      const failed = withFailedTask(error, task.name)
      if (!isTaskError(failed)) throw failed
      await failTask({ life, task }, { code: failed.code, message: failed.reason, cause: failed.cause })
    }
    return 'ended'
  }
}

function lastAttempt({ state }: Life, step: string): AttemptState | undefined {
  return state.attempts.get(state.tasks.get(step)?.attempts.at(-1) ?? '')
}

/** Whether the function of the step was called in the present attempt. */
function isCalled(life: Life, step: string): boolean {
  return lastAttempt(life, step)?.turns[0]?.calls[0]?.calledAt !== undefined
}

/** Records that the function of the flow stopped the step. */
async function failStopped(life: Life, step: string, { reason }: AbortSignal): Promise<'settled'> {
  const { state, engine, tree } = life
  if (lastAttempt(life, step)?.status === 'failed') return 'settled'
  for (const child of activeChildren(state, step)) await cancelChild(engine, tree, child.run)
  await failTask({ life, task: { name: step } }, { code: 'TASK_FAILED', message: messageOf(reason), cause: reason })
  return 'settled'
}

/** Returns the ms until a failed step is tried again, and notes the time; undefined if it is not tried again. */
async function timeToRetry({ state, engine: { store, world } }: Life, call: StepCall): Promise<number | undefined> {
  const { status, failures } = state.tasks.get(call.name) ?? {}
  const until = endOfWait(state, call.name)
  if (status !== 'running' || failures === undefined || until === undefined) return undefined
  const left = until - (await store.now())
  call.dueAt = world.now().getTime() + left
  return left
}
