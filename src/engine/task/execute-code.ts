// A task that is a function. To the journal it is an attempt with one call and no model, so that everything which holds for tools
// holds for it: it is written down before it runs, a `once` function that was cut off is in doubt, a recorded one is read back.
import { digest } from '../../journal/hash.ts'
import type { Json } from '../../journal/json.ts'
import type { AttemptState, TurnState } from '../../journal/state/state.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import type { Tool } from '../../tools/tool.ts'
import { plainAttempt, standingOf } from './attempts.ts'
import { deadline } from '../limits/deadline.ts'
import type { CodeDefinition, CrewDefinition, ExecuteOptions, TaskDefinition } from '../definition.ts'
import { failed, failedByPerson } from './execute-task.ts'
import type { Hold } from '../lease/hold.ts'
import { soFarFor } from '../run/so-far.ts'
import { AnsweredFail, settleCalls } from '../calls/tool-calls.ts'

export async function executeCode(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  code: CodeDefinition,
  options: ExecuteOptions,
): Promise<'completed' | 'suspended'> {
  const attempt = await codeAttempt(hold, crew, task, options)
  const turn = attempt.turns[0] as TurnState
  const soFar = await soFarFor(hold, crew, task)
  let thrown: unknown
  const tool = codeTool(task, code, attempt, async (context) => {
    try {
      return await code.run({ ...context, inputs: soFar.inputs, outputs: soFar.outputs })
    } catch (error) {
      thrown = error
      throw error
    }
  })
  using time = deadline(code.maxSeconds, hold.signal)
  try {
    const scene = {
      hold,
      task: { ...task, tools: [tool] },
      attempt,
      options,
      signal: time.signal,
      delegates: new Map(),
    }
    if (!(await settleCalls(scene, turn))) return 'suspended'
  } catch (error) {
    if (error instanceof AnsweredFail) throw await failedByPerson(hold, task, error.message)
    if (!time.over || hold.signal.aborted) throw error
    throw await failed(
      hold,
      task,
      'TIME_EXHAUSTED',
      `task ${task.name} took longer than its maxSeconds, ${code.maxSeconds} s`,
    )
  }
  const outcome = turn.calls[0]?.outcome
  if (!outcome || !('result' in outcome)) {
    const why = !outcome ? 'nothing' : Object.values(outcome).join('')
    const words =
      outcome && 'unreadable' in outcome
        ? `what task ${task.name} gave is not JSON at ${why}; give text, numbers, lists or plain objects`
        : `task ${task.name} failed: ${why}`
    throw await failed(hold, task, 'TASK_FAILED', words, [], thrown)
  }
  const { result } = outcome
  const parsed = await task.schema?.parse(result)
  if (parsed?.ok === false) {
    const words = `what task ${task.name} gave does not fit its schema: ${parsed.reason}`
    throw await failed(hold, task, 'OUTPUT_REFUSED', words)
  }
  const structured = task.schema !== undefined || typeof result !== 'string'
  const raw = structured ? JSON.stringify(result) : result
  await hold.append([{ type: 'task.completed', path: attempt.path, structured, raw }])
  return 'completed'
}

async function codeAttempt(
  hold: Hold,
  crew: CrewDefinition,
  task: TaskDefinition,
  options: ExecuteOptions,
): Promise<AttemptState> {
  const { state } = hold
  const last = state.attempts.get(state.tasks.get(task.name)?.attempts.at(-1) ?? '')
  // one that has begun is settled first, whatever has changed since: it may have happened
  const begun = last?.status === 'open' && last.turns[0]?.calls[0]?.calledAt !== undefined
  if (begun) return last
  return plainAttempt(hold, standingOf(hold, crew, task, options), () => ({ code: true }))
}

type CodeContext = Parameters<Tool['run']>[1]

function codeTool(
  { name }: TaskDefinition,
  { effect, settle }: CodeDefinition,
  attempt: AttemptState,
  run: (context: CodeContext) => unknown,
): Tool {
  return {
    name,
    description: '',
    effect,
    schema: anything,
    settles: settle !== undefined,
    approval: () => false,
    run: (_, context) => run(context),
    // all that the function depends on, not only the inputs
    key: () => digest(attempt.fingerprint),
    settle: (idempotencyKey) => settle?.(idempotencyKey),
  }
}

const anything: AnswerSchema = {
  json: {},
  asked: {},
  unwrap: (answer: Json) => answer,
  parse: async (value: Json) => ({ ok: true, value }),
}
