// Executes a function task. In the journal, it is an attempt with one call and no model, so it has the guarantees of
// tool calls: the call is recorded before it runs, a `once` call cut off by a kill is in doubt, a recorded result is
// read back. Usually two entries are enough: `task.started` records the call, `task.completed` the result. If a person
// sends the result back, the function is called again in the next attempt, with the feedback.
import { defined } from '../../base/options.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import { taskInPath } from '../../journal/paths.ts'
import type { AttemptState, CallState, TurnState } from '../../journal/state/state.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import { FailedByAnswer, completeCalls } from '../calls/complete-calls.ts'
import { recordEnd, type EndedCall, makeFirstCall, type FunctionStart } from '../calls/make-call.ts'
import type { FunctionDefinition, TaskDefinition } from '../definition.ts'
import { checkResult, reviewByPerson, type TaskResult } from './judge-output.ts'
import type { Life } from '../life.ts'
import { deadline, TimeUp } from '../limits/time.ts'
import { contextFor, currentAttempt } from '../run/task-context.ts'
import { failByPerson, failTask, schemaFailure, thrownError } from './fail-task.ts'
import { runCode, Interruption, openFunctionCall, runningCode, type RunningCode } from './function-call.ts'
import { cancelUnusedChildren, unfinishedAccount, unfinishedChildren } from './kickoff-child.ts'

/** Executes a function task. Rejects if the task fails, after recording the failure. */
export async function executeFunction(
  life: Life,
  task: TaskDefinition,
  code: FunctionDefinition,
): Promise<'completed' | 'suspended'> {
  for (;;) {
    const called = await callFunction(life, task, code)
    if (!called) return 'suspended'
    const { attempt, result, ended } = called
    const judged = await reviewByPerson({ life, task, attempt, signal: life.signal }, result, [])
    const { path } = attempt
    switch (judged.status) {
      case 'accepted': {
        const { raw, structured, entries } = judged
        const completed = { type: 'task.completed', path, structured, raw } as const
        if (ended) await recordEnd(ended, completed)
        else life.note([...entries, { ...completed, ...(await unfinishedAccount(life, task)) }])
        return 'completed'
      }
      case 'failed':
        throw await failByPerson({ life, task }, judged.reason)
      case 'waiting':
        return 'suspended'
      case 'refused': {
        const { by: guardrail, reason } = judged
        await life.append([
          ...judged.entries,
          { type: 'guardrail.judged', path, guardrail, verdict: 'refused', reason },
        ])
      }
    }
  }
}

interface CalledFunction {
  readonly attempt: AttemptState
  readonly result: TaskResult
  /** Set if the call ended in this process, and `task.completed` is to record its result. */
  readonly ended: EndedCall | undefined
}

/**
 * Calls the function, or reads back its recorded result. Returns undefined if a question about its call is open, a run
 * that it kicked off waits, or the slice is over.
 */
async function callFunction(
  life: Life,
  task: TaskDefinition,
  code: FunctionDefinition,
): Promise<CalledFunction | undefined> {
  const { inputs, outputs, missing } = await contextFor(life, task)
  const planned = functionAttempt(life, task)
  const { path } = planned
  const feedback = planned.carries?.message
  let thrown: unknown
  using time = deadline(life.engine.world, code.maxSeconds, life.signal, () => life.engine.store.outageMs())
  const call = openFunctionCall(life, task, path, time.signal)
  const restarts = life.state.tasks.get(task.name)?.restarts?.length
  const recordedCall = (): CallState | undefined => life.state.attempts.get(path)?.turns[0]?.calls[0]
  const tool = functionTool(code, { ...planned, restarts }, recordedCall, async (context, changed) => {
    const outer = runningCode() as RunningCode
    try {
      const returned = await runCode({ ...outer, call }, () =>
        code.run({ ...context, inputs, outputs, missing, ...defined({ feedback }) }, changed),
      )
      await call.end()
      await cancelUnusedChildren(call)
      return returned
    } catch (error) {
      thrown = error
      await call.end()
      throw error
    } finally {
      for (const run of call.uncounted) outer.uncounted.add(run)
    }
  })
  const work = { life, task: { ...task, tools: [tool] }, signal: call.interruptible }
  let ended: EndedCall | undefined
  let attempt: AttemptState
  try {
    if ('type' in planned) ended = await makeFirstCall(work, planned, tool)
    attempt = life.state.attempts.get(path) as AttemptState
    if (!ended && !(await completeCalls({ ...work, attempt }, attempt.turns[0] as TurnState))) return undefined
  } catch (error) {
    if (error instanceof TimeUp) return undefined
    if (error instanceof Interruption && error.failure) throw error.failure.error
    if (error instanceof Interruption) return undefined
    if (error instanceof FailedByAnswer) throw await failByPerson(work, error.message)
    if (!time.over || life.signal.aborted) throw error
    const message = `it took longer than its maxSeconds, ${code.maxSeconds} s`
    throw await failTask(work, { code: 'TIME_EXHAUSTED', message })
  } finally {
    // wait until the child runs that were stopped with the function have recorded that they stopped
    while (call.inProgress.size > 0) await Promise.allSettled(call.inProgress.values())
  }
  const recorded = attempt.turns[0]?.calls[0]
  const outcome = ended?.outcome ?? recorded?.outcome
  const checked = outcome && 'result' in outcome ? await checkResult(task, outcome.result) : undefined
  const completes = checked?.ok === true && !task.humanInput && unfinishedChildren(life, task).length === 0
  if (ended && !completes) await recordEnd(ended)
  if (!checked) {
    const [problem = 'it has no outcome'] = Object.values(outcome ?? {}) as string[]
    const message =
      outcome && 'unreadable' in outcome
        ? `its result is not JSON at ${problem}; return text, numbers, lists or plain objects`
        : problem
    throw await failTask(work, {
      code: 'TASK_FAILED',
      message,
      cause: thrown ?? (recorded?.thrown && thrownError(message, recorded.thrown)),
      stack: recorded?.stack,
    })
  }
  if (!checked.ok) throw await failTask(work, schemaFailure(checked.reason))
  return { attempt, result: checked.result, ended: completes ? ended : undefined }
}

/** Returns the attempt to continue, or the entry that starts the next one. */
function functionAttempt(life: Life, task: TaskDefinition): AttemptState | FunctionStart {
  const { state } = life
  const last = state.attempts.get(state.tasks.get(task.name)?.attempts.at(-1) ?? '')
  // a started call may have happened, so it is completed first, even if the code has changed
  const isStarted = last?.status === 'open' && last.turns[0]?.calls[0]?.calledAt !== undefined
  if (isStarted) return last
  const { kept, next, because, fingerprint } = currentAttempt(life, task)
  if (!kept) return { type: 'task.started', path: next, fingerprint, code: true, ...because }
  if (kept.status !== 'refused') return kept
  const carries = { path: kept.path, message: kept.refusal ?? '' }
  return { type: 'task.started', path: next, fingerprint: kept.fingerprint, code: true, carries, ...because }
}

function functionTool(
  { effect, settle, approval, input }: FunctionDefinition,
  {
    path,
    fingerprint,
    carries,
    restarts,
  }: Pick<AttemptState, 'path' | 'fingerprint' | 'carries'> & {
    readonly restarts: number | undefined
  },
  recorded: () => CallState | undefined,
  run: (context: ToolContext, changed: Json | undefined) => unknown,
): Tool {
  return {
    // the recorded name, even if the task was renamed since
    name: taskInPath(path),
    description: '',
    effect,
    schema: changeableInput(recorded, input),
    settles: settle !== undefined,
    approval: () => approval?.() ?? false,
    run: (_, context) => run(context, recorded()?.input),
    // a digest of everything that the function depends on, not only of the inputs
    key: () => digest(carries ? [fingerprint, carries.message] : restarts ? [fingerprint, restarts] : fingerprint),
    settle: (idempotencyKey) => settle?.(idempotencyKey, recorded()?.input),
  }
}

const notChangeable =
  'it can only be approved as it is, since the function receives the inputs of the run; answer without input'

/** Accepts the recorded input, and what a person may change it to. */
function changeableInput(recorded: () => CallState | undefined, input: FunctionDefinition['input']): AnswerSchema {
  return {
    json: {},
    asked: {},
    unwrap: (answer) => answer,
    async validate(value) {
      if (digest(value) === digest(recorded()?.request.input ?? value)) return { ok: true, value }
      return input ? input.validate(value) : { ok: false, reason: notChangeable }
    },
  }
}
