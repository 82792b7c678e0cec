// A store with something of everything, for looking at the studio and for its tests:
// `node --conditions=reprise-source test/studio/sample-store.ts sqlite:/tmp/studio.db [runs]`.
import { Crew, Task } from 'reprise'
import type { Store } from 'reprise/stores'
import { briefingCrew, checksCrew, claimsCrew, factsValue, longCrew, tightCrew } from './sample-crews.ts'

const notes =
  'Policy P-77. The holder reports water in the cellar on 3 May after heavy rain. Boiler and shelves damaged.'
export const claimInputs = { notes, tone: 'a calm and friendly house style' }
const inputs = claimInputs
const pay = { decision: 'approve', by: 'Grace', note: 'within the limit' } as const

/** Grace approves everything, and knows that the letter was posted. */
export const answer = ({ kind }: { readonly kind: string }) =>
  kind === 'call'
    ? pay
    : kind === 'result'
      ? ({ decision: 'approve', by: 'Grace' } as const)
      : ({ decision: 'happened', result: { posted: true }, by: 'Grace' } as const)

/** Runs of every status but running, with every kind of question, a replay and a fork. */
export async function fillStore(store: string, pauseMs = (): number => 30 + Math.random() * 120): Promise<void> {
  const claims = claimsCrew({ store, pauseMs })
  await claims.kickoff({ id: 'claim-4711', inputs, onQuestion: answer })
  await claims.replay('letter', {
    runId: 'claim-4711',
    id: 'claim-4711-friendlier',
    inputs: { tone: 'a warm one' },
    onQuestion: answer,
  })
  await claims.fork({
    runId: 'claim-4711',
    id: 'claim-4711-not-covered',
    outputs: { facts: { ...factsValue, covered: false, damages: [] } },
    onQuestion: answer,
  })
  await claims.kickoff({ id: 'claim-4712', inputs })
  await claims.kickoff({
    id: 'claim-4713',
    inputs,
    onQuestion: (question: { kind: string }) => (question.kind === 'call' ? pay : undefined),
  })
  await claims.kickoff({
    id: 'claim-4714',
    inputs,
    onQuestion: (question: { kind: string }) => (question.kind === 'doubt' ? undefined : answer(question)),
  })
  await claims.kickoff({ id: 'claim-4715', inputs: { ...inputs, notes: 'unreadable' } }).catch(() => {})
  const checks = checksCrew({ store, pauseMs })
  await checks.kickoff({ id: 'check-north-mill', inputs: { company: 'North Mill' } })
  await checks.enqueue({ id: 'check-later', inputs: { company: 'South Quay' } })
  await briefingCrew({ store, pauseMs }).kickoff({ id: 'briefing-tides', inputs: { topic: 'tides' } })
  await tightCrew({ store }).kickoff({ id: 'summary-long-text', inputs: { text: 'a long text' } })
}

/** A run of at least this many steps. */
export async function addLongRun(store: string | Store, steps = 5_000): Promise<void> {
  const calls = 50
  await longCrew({ store }, Math.ceil(steps / (2 * calls)), calls).kickoff({ id: 'library-long' })
}

export async function addManyRuns(store: string | Store, count: number): Promise<void> {
  const crew = new Crew({
    name: 'imports',
    tasks: [new Task({ name: 'import', effect: 'read', run: ({ inputs: own }) => own['row'] })],
    store,
  })
  const rows = Array.from({ length: count }, (_, row) => ({ row }))
  await crew.kickoffForEach(rows, { concurrency: 16 })
}

if (import.meta.main) {
  const [store = 'sqlite:/tmp/reprise-studio.db', many = '0'] = process.argv.slice(2)
  if (Number(many) > 0) await addManyRuns(store, Number(many))
  await addLongRun(store)
  await fillStore(store)
}
