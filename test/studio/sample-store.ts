// A store with something of everything, for looking at the studio and for its tests:
// `node --conditions=reprise-source test/studio/sample-store.ts sqlite:/tmp/studio.db [runs]`.
import { Crew, Task } from 'reprise'
import type { Store } from 'reprise/stores'
import { briefingCrew, checksCrew, claimsCrew, factsValue, longCrew, tightCrew } from './sample-crews.ts'

const notes =
  'Policy P-77. The holder reports water in the cellar on 3 May after heavy rain. Boiler and shelves damaged.'
const inputs = { notes, tone: 'a calm and friendly house style' }

/** Runs of every status but running, with every kind of question, a replay and a fork. */
export async function fillStore(store: string): Promise<void> {
  const pauseMs = (): number => 30 + Math.random() * 120
  const claims = claimsCrew({ store, pauseMs })
  const pay = { decision: 'approve', by: 'Grace', note: 'within the limit' } as const
  const good = { decision: 'approve', by: 'Grace' } as const
  const answer = (question: { readonly kind: string }) =>
    question.kind === 'call'
      ? pay
      : question.kind === 'result'
        ? good
        : { decision: 'happened', result: { posted: true }, by: 'Grace' }
  await claims.kickoff({ id: 'claim-4711', inputs, onQuestion: answer as never })
  await claims.replay('letter', {
    runId: 'claim-4711',
    id: 'claim-4711-friendlier',
    inputs: { tone: 'a warm one' },
    onQuestion: answer as never,
  })
  await claims.fork({
    runId: 'claim-4711',
    id: 'claim-4711-not-covered',
    outputs: { facts: { ...factsValue, covered: false, damages: [] } },
    onQuestion: answer as never,
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
    onQuestion: ((question: { kind: string }) => (question.kind === 'doubt' ? undefined : answer(question))) as never,
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
