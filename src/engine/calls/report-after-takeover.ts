// Another process took the run over while a `once` call was made here, and asks what became of it: nobody but this
// process knows. It may not write to the journal any more, but it can answer that question, like anybody.
import type { Question } from '../../journal/entries.ts'
import { isEnded, type RunState, type ToolOutcome } from '../../journal/state/state.ts'
import { describeOwner, sameOwner } from '../../stores/owner.ts'
import { shortWaitMs, patientStore } from '../../stores/patient/patient-store.ts'
import type { Engine } from '../definition.ts'
import type { Life } from '../life.ts'
import { answerQuestion } from '../inbox/send-message.ts'
import { readRun } from '../read/read-run.ts'

/** For how long the question is looked for, and how often. */
const lookForMs = 10_000
const pollIntervalMs = 500

/**
 * For a life that has lost its lease, and given it up. Resolves when it was looked once for questions about calls that
 * have ended: who took the run over has usually asked by then. The rest is seen to while the process lives.
 */
export async function reportAfterTakeover({ engine: own, state, unwritten }: Life): Promise<void> {
  const engine = { ...own, store: patientStore(own.store, { limitMs: shortWaitMs, clock: own.world }) }
  for (const [path, known] of unwritten) {
    // undefined while the call still runs
    const ended = await Promise.race([known, Promise.resolve(undefined)])
    // whoever answers first is right; and what else goes wrong leaves the question to people
    if (ended && (await answerDoubt(engine, state, path, ended).catch(() => true))) continue
    void keepLooking(engine, state, path, known).catch(() => undefined)
  }
}

async function keepLooking(
  engine: Engine,
  mine: RunState,
  path: string,
  known: Promise<ToolOutcome | undefined>,
): Promise<void> {
  const outcome = await known
  const { world } = engine
  for (
    let waited = 0;
    waited < lookForMs && !(await answerDoubt(engine, mine, path, outcome));
    waited += pollIntervalMs
  )
    await world.sleep(pollIntervalMs, new AbortController().signal)
}

/** True when there is nothing left to do: it is answered, or nobody will ask any more. */
async function answerDoubt(
  engine: Engine,
  { run }: RunState,
  path: string,
  outcome: ToolOutcome | undefined,
): Promise<boolean> {
  // whether a call that threw has done its work is for a person to say
  if (!outcome || !('result' in outcome)) return true
  const { state } = await readRun(engine.store, run)
  const { owner } = engine.world
  const isAbout = ({ question }: { readonly question: Question }): boolean =>
    question.kind === 'doubt' && question.path === path && sameOwner(question.owner, owner)
  const asked = [...state.questions.values()].find(isAbout)
  if (!asked) return isEnded(state.status)
  const given = { decision: 'happened', result: outcome.result, by: describeOwner(owner) }
  await answerQuestion(engine, run, asked.question.id, given)
  return true
}
