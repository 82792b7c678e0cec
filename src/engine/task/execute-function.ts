// Executes a function task. In the journal, it is an attempt with one call and no model, so it keeps the promises of
// tool calls: it is recorded before it runs, a `once` function that was killed is in doubt, a recorded result is read
// back. If a person sends its result back, the function is called again in the next attempt, with the feedback.
import { defined } from '../../base/defined.ts'
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { AttemptState, TurnState } from '../../journal/state/state.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import { parseValue } from '../../schema/parse-value.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import { FailedByAnswer, completeCalls } from '../calls/complete-calls.ts'
import type { FunctionDefinition, TaskDefinition } from '../definition.ts'
import { reviewByPerson, type TaskResult } from '../guardrails/ask-person.ts'
import type { Life, ActiveAttempt } from '../life.ts'
import { deadline } from '../limits/deadline.ts'
import { TimeUp } from '../limits/slice.ts'
import { contextFor } from '../run/task-context.ts'
import { currentAttempt, attemptWithoutModel } from './attempts.ts'
import { failByPerson, failTask, schemaFailure } from './fail-task.ts'
import { runCode, Interruption, openFunctionCall, runningCode, type RunningCode } from './function-call.ts'
import { unfinishedAccount, cancelUnusedChildren } from './kickoff-child.ts'

export async function executeFunction(
  life: Life,
  task: TaskDefinition,
  code: FunctionDefinition,
): Promise<'completed' | 'suspended'> {
  for (;;) {
    const attempt = await functionAttempt(life, task)
    const result = await functionResult(life, task, code, attempt)
    if (!result) return 'suspended'
    const judged = await reviewByPerson({ life, task, attempt, signal: life.signal }, result, [])
    const { path } = attempt
    switch (judged.status) {
      case 'accepted':
        life.note([
          ...judged.entries,
          {
            type: 'task.completed',
            path,
            structured: judged.structured,
            raw: judged.raw,
            ...(await unfinishedAccount(life, task)),
          },
        ])
        return 'completed'
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

/** What the function returned, now or in an earlier process. Undefined while a question about its call is open. */
async function functionResult(
  life: Life,
  task: TaskDefinition,
  code: FunctionDefinition,
  attempt: AttemptState,
): Promise<TaskResult | undefined> {
  const turn = attempt.turns[0] as TurnState
  const { inputs, outputs, missing } = await contextFor(life, task)
  const feedback = attempt.carries?.message
  let thrown: unknown
  using time = deadline(life.engine.world, code.maxSeconds, life.signal, () => life.engine.store.outageMs())
  const call = openFunctionCall(life, task, attempt, time.signal)
  const tool = functionTool(code, attempt, async (context) => {
    const outer = runningCode() as RunningCode
    try {
      const returned = await runCode({ ...outer, call }, () =>
        code.run({ ...context, inputs, outputs, missing, ...defined({ feedback }) }),
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
  const work: ActiveAttempt = { life, task: { ...task, tools: [tool] }, attempt, signal: call.interruptible }
  try {
    if (!(await completeCalls(work, turn))) return undefined
  } catch (error) {
    if (error instanceof TimeUp) return undefined
    if (error instanceof Interruption && error.failure) throw error.failure.error
    if (error instanceof Interruption) return undefined
    if (error instanceof FailedByAnswer) throw await failByPerson(work, error.message)
    if (!time.over || life.signal.aborted) throw error
    const message = `it took longer than its maxSeconds, ${code.maxSeconds} s`
    throw await failTask(work, { code: 'TIME_EXHAUSTED', message })
  } finally {
    // children that were stopped with the function still record that
    while (call.inProgress.size > 0) await Promise.allSettled(call.inProgress.values())
  }
  const { outcome, stack } = turn.calls[0] ?? {}
  if (!outcome || !('result' in outcome)) {
    const [why = 'nothing'] = Object.values(outcome ?? {}) as string[]
    const message =
      outcome && 'unreadable' in outcome
        ? `its result is not JSON at ${why}; return text, numbers, lists or plain objects`
        : why
    throw await failTask(work, { code: 'TASK_FAILED', message, cause: thrown, stack })
  }
  const { result } = outcome
  const parsed = task.schema && (await parseValue(task.schema, result))
  if (parsed?.ok === false) throw await failTask(work, schemaFailure(parsed.reason))
  const structured = task.schema !== undefined || typeof result !== 'string'
  return { raw: structured ? JSON.stringify(result) : result, structured }
}

async function functionAttempt(life: Life, task: TaskDefinition): Promise<AttemptState> {
  const { state } = life
  const last = state.attempts.get(state.tasks.get(task.name)?.attempts.at(-1) ?? '')
  // a call that was started may have happened, so it is completed first, even if the code has changed
  const isStarted = last?.status === 'open' && last.turns[0]?.calls[0]?.calledAt !== undefined
  if (isStarted) return last
  const current = currentAttempt(life, task)
  const { kept, next, because } = current
  if (kept?.status !== 'refused') return attemptWithoutModel(life, current, { code: true })
  const carries = { path: kept.path, message: kept.refusal ?? '' }
  life.note([{ type: 'task.started', path: next, fingerprint: kept.fingerprint, code: true, carries, ...because }])
  return state.attempts.get(next) as AttemptState
}

function functionTool(
  { effect, settle }: FunctionDefinition,
  attempt: AttemptState,
  run: (context: ToolContext) => unknown,
): Tool {
  return {
    // as recorded, even if the task has another name now
    name: attempt.turns[0]?.calls[0]?.request.tool ?? '',
    description: '',
    effect,
    schema: anything,
    settles: settle !== undefined,
    approval: () => false,
    run: (_, context) => run(context),
    // covers everything that the function depends on, not only the inputs
    key: () => digest(attempt.carries ? [attempt.fingerprint, attempt.carries.message] : attempt.fingerprint),
    settle: (idempotencyKey) => settle?.(idempotencyKey),
  }
}

const anything: AnswerSchema = {
  json: {},
  asked: {},
  unwrap: (answer: Json) => answer,
  validate: async (value: Json) => ({ ok: true, value }),
}
