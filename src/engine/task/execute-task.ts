// Executes a task, attempt by attempt. An attempt is one conversation: model calls, each followed by the tool calls
// that it asks for, until the model answers without calling a tool. Recorded steps are read back, never executed
// again. After a refused answer, the next attempt continues the conversation. It starts a new one after a failure or a
// person's edit, and when a resume restarts a task whose code has changed.
import { RepriseError } from '../../base/errors.ts'
import { defined } from '../../base/options.ts'
import type { NewEntry } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { replyText, type AttemptState } from '../../journal/state/state.ts'
import { FailedByAnswer, completeCalls } from '../calls/complete-calls.ts'
import type { TaskDefinition } from '../definition.ts'
import { judgeOutput, type Verdict } from './judge-output.ts'
import type { Life, ActiveAttempt } from '../life.ts'
import { askToRaise, limitFailureReason, LimitReached } from '../limits/budget.ts'
import { TimeUp, deadline, unlessAborted } from '../limits/time.ts'
import { pinRequest } from '../model/pin.ts'
import { takeTurn } from '../model/take-turn.ts'
import { currentAttempt, countRefusals, revisionMessage, triesWord } from '../run/task-context.ts'
import { delegateWith, withDelegation } from './delegate.ts'
import { executeChild } from './execute-child.ts'
import { executeFunction } from './execute-function.ts'
import { failByPerson, failTask } from './fail-task.ts'

/**
 * Executes a task. Returns `suspended` if a question is open, another task has failed, or the time slice is over.
 * Rejects if the task fails, after recording the failure.
 */
export async function executeTask(life: Life, declared: TaskDefinition): Promise<'completed' | 'suspended'> {
  if (declared.code) return executeFunction(life, declared, declared.code)
  if (declared.child) return executeChild(life, declared, declared.child)
  const task = withDelegation(declared, life.state.inputs)
  for (;;) {
    const attempt = agentAttempt(life, task)
    const execute = (): Promise<AttemptOutcome | undefined> => executeAttempt(life, task, attempt)
    let ended: AttemptOutcome | undefined
    try {
      ended = await (life.tracing?.attempt(attempt, task, execute) ?? execute())
    } catch (error) {
      if (!(error instanceof LimitReached)) throw error
      // the budget of a parent is used up: the parent asks
      if (error.run !== life.state.run) return 'suspended'
      if (!(await askToRaise(life, attempt.path, error))) return 'suspended'
      const failing = limitFailureReason(life.state)
      if (failing !== undefined) throw await failByPerson({ life, task }, failing)
      continue
    }
    if (ended === undefined || ended.judged.status === 'waiting') return 'suspended'
    if (await recordVerdict(life, task, attempt, ended)) return 'completed'
  }
}

interface FinalAnswer {
  readonly text: string
  readonly finish: string
}

interface AttemptOutcome {
  readonly text: string
  readonly judged: Verdict
}

/** Returns the open attempt, or starts a new one, which may continue the conversation of a refused attempt. */
function agentAttempt(life: Life, task: TaskDefinition): AttemptState {
  const { state } = life
  const { kept, because, fingerprint, next } = currentAttempt(life, task)
  if (kept?.status === 'open') return kept
  const pinned = {
    request: (kept?.pinned ?? pinRequest(task, state, life.engine.world.now())) as unknown as Json,
    fingerprint: kept?.fingerprint ?? fingerprint,
    agent: task.agent.title(state.inputs),
  }
  const carries = kept ? { path: kept.path, message: revisionMessage(kept) } : task.carries
  life.note([{ type: 'task.started', path: next, ...pinned, ...defined({ carries }), ...because }])
  return state.attempts.get(next) as AttemptState
}

/**
 * Executes an attempt up to the verdict on its answer. Returns undefined if a question is open, another task has
 * failed, or the slice is over. Rejects with TIME_EXHAUSTED after `maxSeconds`.
 */
async function executeAttempt(
  life: Life,
  task: TaskDefinition,
  attempt: AttemptState,
): Promise<AttemptOutcome | undefined> {
  const { role, maxSeconds } = task.agent
  using time = deadline(life.engine.world, maxSeconds, life.signal, () => life.engine.store.outageMs())
  const work: ActiveAttempt = { life, task, attempt, signal: time.signal, delegate: delegateWith(converse) }
  try {
    const answer = await converse(work)
    if (answer === 'endless') throw await iterationsExhausted(work)
    if (!answer) return undefined
    const { text, finish } = answer
    return { text, judged: await unlessAborted(judgeOutput(work, text, finish), work.signal) }
  } catch (error) {
    if (error instanceof TimeUp) return undefined
    const failedAlready = RepriseError.isInstance(error) && error.task === task.name
    if (!time.over || life.signal.aborted || failedAlready) throw error
    const message = `it took longer than maxSeconds of agent ${role}, ${maxSeconds} s`
    throw await failTask(work, { code: 'TIME_EXHAUSTED', message })
  }
}

/**
 * Takes turns until the model answers without calling a tool. Returns `endless` if it still calls tools in its last
 * turn; undefined if a question is open or another task has failed.
 */
async function converse(work: ActiveAttempt): Promise<FinalAnswer | 'endless' | undefined> {
  const { life, task, attempt } = work
  for (;;) {
    const turn = attempt.turns.at(-1)
    if (turn && turn.calls.length === 0 && !turn.reply.paused)
      return { text: replyText(turn.reply), finish: turn.reply.finish }
    // the calls of the last turn are not made: no turn is left for their results
    if (turn && attempt.turns.length >= task.agent.maxIterations) return 'endless'
    if (turn) {
      try {
        if (!(await completeCalls(work, turn))) return undefined
      } catch (error) {
        throw error instanceof FailedByAnswer ? await failByPerson(work, error.message) : error
      }
    }
    if (life.failure) return undefined
    await takeTurn(work)
  }
}

/**
 * Records the verdict on an answer. Returns false if the model must answer again. Rejects with OUTPUT_REFUSED if no
 * tries are left, or with TASK_FAILED if a person decided so.
 */
async function recordVerdict(
  life: Life,
  task: TaskDefinition,
  attempt: AttemptState,
  { text, judged }: AttemptOutcome,
): Promise<boolean> {
  const { path } = attempt
  if (judged.status === 'accepted') {
    const raw = judged.raw === text ? undefined : judged.raw
    const structured = task.schema !== undefined
    life.note([...judged.entries, { type: 'task.completed', path, structured, ...defined({ raw }) }])
    return true
  }
  if (judged.status === 'failed') throw await failByPerson({ life, task }, judged.reason)
  if (judged.status === 'waiting') return false
  const { by: guardrail, reason } = judged
  const refusal: NewEntry = { type: 'guardrail.judged', path, guardrail, verdict: 'refused', reason }
  const entries = [...judged.entries, refusal]
  const before = countRefusals(life.state, attempt)
  // revisions for a person are unlimited
  if (guardrail === 'person' || before < task.retries) {
    await life.append(entries)
    return false
  }
  const message = `the model gave no acceptable answer in ${triesWord(before + 1)}: ${reason}`
  throw await failTask({ life, task }, { code: 'OUTPUT_REFUSED', message, entries })
}

function iterationsExhausted(work: ActiveAttempt): Promise<RepriseError> {
  const { agent } = work.task
  const message = `the model still called tools in turn ${agent.maxIterations}, its last; raise maxIterations of agent ${agent.role}`
  return failTask(work, { code: 'ITERATIONS_EXHAUSTED', message })
}
