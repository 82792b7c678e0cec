// A store with something for every view of the studio, and where these views are.
import { Crew } from 'reprise'
import { briefingCrew, checksCrew, claimsCrew, tightCrew } from '../sample-crews.ts'

const inputs = { notes: 'Policy P-77. Water in the cellar.', tone: 'a calm style' }

export async function sampleRuns(store: string): Promise<readonly Crew[]> {
  const [claims, checks] = [claimsCrew({ store }), checksCrew({ store })]
  const [tight, briefings] = [tightCrew({ store }), briefingCrew({ store })]
  const good = { decision: 'approve', by: 'Grace' } as const
  const answer = (question: { readonly kind: string }) =>
    question.kind === 'doubt' ? { decision: 'happened', result: { posted: true }, by: 'Grace' } : good
  await claims.kickoff({ id: 'whole', inputs, onQuestion: answer as never })
  await claims.replay('letter', {
    runId: 'whole',
    id: 'replay',
    inputs: { tone: 'a warm one' },
    onQuestion: answer as never,
  })
  await claims.kickoff({ id: 'approval', inputs })
  await claims.kickoff({
    id: 'doubt',
    inputs,
    onQuestion: ((question: { kind: string }) => (question.kind === 'doubt' ? undefined : answer(question))) as never,
  })
  await claims.kickoff({
    id: 'review',
    inputs,
    onQuestion: (question: { kind: string }) => (question.kind === 'call' ? good : undefined),
  })
  await claims.kickoff({ id: 'failed', inputs: { ...inputs, notes: 'unreadable' } }).catch(() => {})
  await checks.kickoff({ id: 'parallel', inputs: { company: 'North Mill' } })
  await checks.enqueue({ id: 'queued', inputs: { company: 'South Quay' } })
  const company = 'West Gate'
  await checks.schedule({ name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs: { company } })
  await checks.enqueueNext('nightly')
  await claims.backtest('facts', { id: 'backtest', runs: 3 })
  await tight.kickoff({ id: 'limit', inputs: { text: 'a long text' } })
  await briefings.kickoff({ id: 'within', inputs: { topic: 'tides' } })
  return [claims, checks, tight, briefings]
}

/** By name: the address, and what is there when it is whole. */
export const views: { readonly [name: string]: readonly [path: string, shows: string] } = {
  'what waits': ['/', '.question-card'],
  'a question in doubt': ['/?question=doubt%20q3', '.question-place form'],
  'a limit': ['/?question=limit%20q1', '.question-place form'],
  runs: ['/runs', '.run-row .run-id'],
  'no runs': ['/runs?search=nothing', '.state-title'],
  'a timeline': ['/runs/whole', '.line.is-step'],
  'a task': ['/runs/whole?at=assessment', '.detail h2'],
  'a reply': ['/runs/whole?at=facts%231%2F2', '.detail h3'],
  'a call': ['/runs/whole?at=assessment%231%2F1.0', '.detail h3'],
  'a run that waits': ['/runs/approval', '.line.is-question'],
  'a crew within a run': ['/runs/within?in=research%231&at=digest', '.line.is-question'],
  'a failed run': ['/runs/failed', '.run-why'],
  'a failed step': ['/runs/failed?at=facts%231%2F2', '.detail .error-box'],
  'a graph': ['/runs/parallel?tab=graph', '.graph strong'],
  'inputs and output': ['/runs/whole?tab=io', '.run-main h2, .run-main h3'],
  spending: ['/runs/whole?tab=spending', '.run-main table'],
  lineage: ['/runs/whole?tab=lineage', '.run-main a'],
  resume: ['/runs/failed?action=resume', 'dialog .plan-sum'],
  replay: ['/runs/whole?action=replay', 'dialog .plan-sum'],
  fork: ['/runs/whole?action=fork&edit=facts', 'dialog fieldset'],
  'a comparison': ['/compare?a=whole&b=replay', '.main h2'],
  'a backtest': ['/compare?backtest=backtest', '.case'],
  'a backtest to start': ['/crews/claims?backtest=facts', 'dialog .plan-sum'],
  'what to compare': ['/compare', '.main h1'],
  crews: ['/crews', '.main h2, .main h3'],
  'a crew': ['/crews/claims', 'form'],
  'a nested crew': ['/crews/research', '.crew-side'],
  'a schedule': ['/crews/company-checks', '.schedule'],
  'no such run': ['/runs/none', '.state-title'],
}
