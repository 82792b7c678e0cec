// Reports the outcome of a `once` call after another process has taken the run over. Only this process knows the
// outcome. It may no longer write to the journal, but it can answer the question that the new owner asks about the
// call.
import type { Question } from '../../journal/entries.ts'
import { isEnded, type RunState, type ToolOutcome } from '../../journal/state/state.ts'
import { describeOwner, sameOwner } from '../../stores/owner.ts'
import { shortWaitMs } from '../../stores/patient-store.ts'
import type { Engine } from '../definition.ts'
import type { Life } from '../life.ts'
import { answerQuestion } from '../inbox/send-message.ts'
import { readRun } from '../../read/read-run.ts'

// how long and how often to look for the question
const lookForMs = 10_000
const pollIntervalMs = 500

/**
 * Answers the new owner's questions. Call it after the lease was lost. Resolves after looking once for questions about
 * finished calls, since the new owner has usually asked by then; keeps looking for the others in the background.
 */
export async function reportAfterTakeover({ engine: own, state, unwritten }: Life): Promise<void> {
  const engine = { ...own, store: own.store.withPatience({ limitMs: shortWaitMs }) }
  for (const [path, outcome] of unwritten) {
    // undefined while the call still runs
    const ended = await Promise.race([outcome, Promise.resolve(undefined)])
    // after an error, the question is left to people; another answer may also have come first
    if (ended && (await answerDoubt(engine, state, path, ended).catch(() => true))) continue
    void keepLooking(engine, state, path, outcome).catch(() => undefined)
  }
}

async function keepLooking(
  engine: Engine,
  state: RunState,
  path: string,
  ended: Promise<ToolOutcome | undefined>,
): Promise<void> {
  const outcome = await ended
  const { world } = engine
  for (
    let waited = 0;
    waited < lookForMs && !(await answerDoubt(engine, state, path, outcome));
    waited += pollIntervalMs
  )
    await world.sleep(pollIntervalMs, new AbortController().signal)
}

/** Answers the question about a call, if it is asked. Returns true if there is nothing left to do. */
async function answerDoubt(
  engine: Engine,
  { run }: RunState,
  path: string,
  outcome: ToolOutcome | undefined,
): Promise<boolean> {
  // whether a call that threw has done its work, only a person can tell
  if (!outcome || !('result' in outcome)) return true
  const { state } = await readRun(engine.store, run)
  const { owner } = engine.world
  const isAbout = ({ question }: { readonly question: Question }): boolean =>
    question.kind === 'doubt' && question.path === path && sameOwner(question.owner, owner)
  const asked = [...state.questions.values()].find(isAbout)
  if (!asked) return isEnded(state.status)
  const answer = { decision: 'happened', result: outcome.result, by: describeOwner(owner) }
  await answerQuestion(engine, run, asked.question.id, answer)
  return true
}
