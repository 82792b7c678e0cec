// Steps of flows that wait: for a time, for a person's answer, or for an event. They execute nothing, so any number of
// them may be open.
import { defined } from '../../base/options.ts'
import type { NewEntry, Question } from '../../journal/entries.ts'
import { readJson, type Json } from '../../journal/json.ts'
import { attemptPath } from '../../journal/paths.ts'
import { questionsAt } from '../../journal/state/questions.ts'
import type { QuestionState, RunState } from '../../journal/state/state.ts'
import { askOnQuestion } from '../inbox/ask-on-question.ts'
import type { Life } from '../life.ts'
import { failByPerson, failTask } from '../task/fail-task.ts'
import type { StepCall, Wait } from './pass.ts'

/** Returns `suspended` while the step has to wait. */
export async function executeWait(life: Life, call: StepCall, work: Wait): Promise<'completed' | 'suspended'> {
  const { state, engine } = life
  const now = await engine.store.now()
  const path = await startedWait(life, call, work, now)
  if (state.effects === 'never') return endInTrial(life, call, work, path)
  const until = endOfWait(state, call.name)
  if (work.wait === 'question' && (await takeAnswer(life, call, work, path))) return 'completed'
  if (work.wait === 'event' && (await life.queue.events(() => takeEvent(life, call, work, path)))) return 'completed'
  if (until === undefined) return 'suspended'
  if (now < until) {
    call.dueAt = engine.world.now().getTime() + (until - now)
    return 'suspended'
  }
  const timedOut = work.wait === 'sleep' ? {} : { timedOut: true as const }
  await life.append([{ type: 'task.completed', path, raw: 'null', structured: true, ...timedOut }])
  return 'completed'
}

/** Ends a wait in the trial of a backtest, which does not wait. */
async function endInTrial(life: Life, { name }: StepCall, work: Wait, path: string): Promise<'completed'> {
  if (work.wait === 'sleep') await life.append([{ type: 'task.completed', path, raw: 'null', structured: true }])
  else {
    const what = work.wait === 'question' ? 'an answer' : `event ${work.event}`
    const message = `step ${name} waits for ${what}, and a trial does not wait`
    await failTask({ life, task: { name } }, { code: 'TASK_FAILED', message })
  }
  return 'completed'
}

/** When the wait of a step ends, in ms since 1970. */
export function endOfWait({ tasks }: RunState, name: string): number | undefined {
  const { until } = tasks.get(name) ?? {}
  return until === undefined ? undefined : Date.parse(until)
}

/** Starts the wait, unless it is already recorded. Returns the path of its attempt. */
async function startedWait(life: Life, { name, after }: StepCall, work: Wait, now: number): Promise<string> {
  const { state } = life
  const attempts = state.tasks.get(name)?.attempts ?? []
  const last = state.attempts.get(attempts.at(-1) ?? '')
  if (last?.status === 'open') return last.path
  const path = attemptPath(name, attempts.length + 1)
  const end = work.until?.(now)
  const until = end === undefined ? undefined : new Date(end).toISOString()
  const started: NewEntry = {
    type: 'task.started',
    path,
    fingerprint: {},
    after,
    wait: work.wait,
    ...defined({ until }),
  }
  const asks = work.wait === 'question' && state.effects !== 'never'
  await life.append(asks ? [started, questionEntry(life, path, work)] : [started])
  return path
}

type QuestionWait = Extract<Wait, { wait: 'question' }>

function questionEntry(life: Life, path: string, { text, schema, about }: QuestionWait, problem = ''): NewEntry {
  const question: Question = {
    id: life.questionId(),
    path,
    kind: 'value',
    text: `${problem}${text}`,
    schema,
    ...defined({ about }),
  }
  return { type: 'question.asked', path, question }
}

/** The newest question of a waiting step. */
export function questionOf(state: RunState, path: string): QuestionState | undefined {
  return questionsAt(state, path).findLast(({ question }) => question.kind === 'value')
}

/** Completes the step with a person's answer. Returns false if there is none. An answer that doesn't fit is refused. */
async function takeAnswer(life: Life, call: StepCall, work: QuestionWait, path: string): Promise<boolean> {
  const { state } = life
  for (;;) {
    const asked = questionOf(state, path)
    if (asked && !asked.answer) await askOnQuestion(life, asked.question)
    const answer = asked?.answer
    if (!answer) return false
    if (answer.decision === 'fail') {
      await failByPerson({ life, task: { name: call.name } }, answer.reason)
      return true
    }
    const value = (answer as { readonly value: Json }).value
    const checked = await work.check(value)
    if (checked.ok) {
      await life.append([{ type: 'task.completed', path, raw: JSON.stringify(value), structured: true }])
      return true
    }
    await life.append([questionEntry(life, path, work, `The answer does not fit: ${checked.reason}. `)])
  }
}

/** Completes the step with the oldest event that fits it. Returns false if there is none. */
async function takeEvent(
  life: Life,
  { name }: StepCall,
  work: Extract<Wait, { wait: 'event' }>,
  path: string,
): Promise<boolean> {
  for (const { seq, name: event, raw } of life.state.events.values()) {
    if (event !== work.event) continue
    const checked = await work.check(readJson(raw) as Json)
    if (checked.ok) {
      await life.append([{ type: 'task.completed', path, event: seq, structured: true }])
      return true
    }
    const words = `run ${life.state.run}: event ${event} at entry ${seq} does not fit step ${name}: ${checked.reason}`
    if (life.warned.has(words)) continue
    life.warned.add(words)
    life.crew.logger.warn(words)
  }
  return false
}
