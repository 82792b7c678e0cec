// A claim is settled: tools of all effects, a cached call, an approval, a call in doubt, a call that timed out,
// guardrails, a person who asks for a revision, a skipped task, an output file, callbacks, and an overloaded model.
import { once } from 'node:events'
import { Agent, Crew, Task, tool, type Answer, type OpenQuestion } from 'reprise'
import { z } from 'zod'
import { before, fail, finishRun, overloaded, untilDeath, type Life, type Scene } from '../lab.ts'

export const claim: Scene = {
  async record({ life, save, saveFinished }) {
    const first = claims(life())
    await first.kickoff({ id: 'claim', inputs: { name: 'ada' } })
    await first
      .run('claim')
      .answer('q1', { decision: 'approve', input: { euros: 100 }, note: 'not all' }, { by: 'Bob' })
    // stopped before the payment starts; the next process dies right after the payment
    const stop = new AbortController()
    const stopping = life((types) => (types.includes('tool.called') ? stop.abort() : undefined))
    await claims(stopping).resume('claim', { signal: stop.signal })
    await save('stopped', 'claim', 'done')
    await untilDeath(claims(life(before('tool.returned'))).resume('claim'))
    await save('killed', 'claim', 'done')
    const second = claims(life())
    await second.resume('claim')
    await second.run('claim').answer('q2', answer({ kind: 'doubt' }))
    await second.resume('claim')
    await second.run('claim').answer('q3', answer({ kind: 'result', round: 1 }))
    await saveFinished('done', 'claim')
  },
  finish,
}

function finish(life: Life, run: string) {
  return finishRun(life, claims(life), run, answer)
}

function answer(question: Pick<OpenQuestion, 'kind'> & { readonly round?: number }): Answer {
  if (question.kind === 'call') return { decision: 'approve', input: { euros: 100 } }
  if (question.kind === 'doubt') return { decision: 'happened', result: { receipt: '100-0' }, by: 'Bob' }
  return question.round === 1 ? { decision: 'revise', feedback: 'shorter' } : { decision: 'approve' }
}

function claims(life: Life) {
  const { did } = life
  const audit = new Task({ name: 'audit', effect: 'read', run: () => 'audited' })
  const audits = new Crew({ ...life.options, name: 'audits', tasks: [audit] })
  const lookUp = tool({
    name: 'look_up',
    description: 'Looks up a policy',
    effect: 'read',
    cache: true,
    input: z.object({ policy: z.string() }),
    async run({ policy }) {
      // queues an independent run, whose usage does not count for this one
      await audits.enqueue({ id: `audit-${policy}` })
      return { policy, times: did(`look up ${policy}`) }
    },
  })
  const file = tool({
    name: 'file',
    description: 'Files a note',
    effect: 'idempotent',
    input: z.object({ text: z.string() }),
    run({ text }) {
      did(`file ${text}`)
      fail(new Error('the archive is closed'))
    },
  })
  const pay = tool({
    name: 'pay',
    description: 'Pays',
    effect: 'once',
    approval: true,
    input: z.object({ euros: z.number() }),
    run: ({ euros }) => ({ receipt: `${euros}-${did(`pay ${euros}`)}` }),
  })
  const send = tool({
    name: 'send',
    description: 'Sends a letter',
    effect: 'once',
    maxSeconds: 0.02,
    input: z.object({ to: z.string() }),
    // exceeds maxSeconds
    run: ({ to }, { signal }) => (did(`send ${to}`), once(signal, 'abort').then(() => 'too late')),
    settle: (_, { to }) => ({ happened: true, result: `sent to ${to}` }),
  })
  const model = life.model([
    { when: 'Task: Check', after: 0, calls: [{ tool: 'look_up', input: { policy: 'P-7' } }] },
    { when: 'Task: Check', after: 1, repeat: true, calls: [{ tool: 'look_up', input: { policy: 'P-7' } }] },
    { when: 'Task: Check', after: 2, calls: [{ tool: 'file', input: { text: 'checked' } }] },
    { when: 'Task: Check', reply: () => (did('try to check') === 0 ? overloaded() : { amount: 120 }) },
    { when: 'Task: Settle', after: 0, calls: [{ tool: 'pay', input: { euros: 120 } }] },
    { when: 'Task: Settle', after: 1, calls: [{ tool: 'send', input: { to: 'Ada' } }] },
    { when: 'Task: Settle', reply: 'Paid, and a letter is on its way.' },
    { when: 'shorter', reply: 'Paid.' },
    { when: 'no greeting', reply: '  We paid a hundred euros. ' },
    { when: 'Task: Report', reply: 'Hello! We paid.' },
  ])
  const tools = [lookUp, file, pay, send]
  const agent = new Agent({ role: 'Clerk', goal: 'Settle the claim of {name}', model, tools })
  const check = new Task({
    name: 'check',
    description: 'Check the claim',
    agent,
    output: z.object({ amount: z.number() }),
    outputFile: 'claims/{name}.json',
  })
  const escalate = new Task({
    name: 'escalate',
    description: 'Escalate',
    agent,
    context: [check],
    when: ({ outputs }) => outputs.check.amount > 1_000,
  })
  const settle = new Task({ name: 'settle', description: 'Settle the claim', agent })
  const report = new Task({
    name: 'report',
    description: 'Report',
    expectedOutput: 'one sentence',
    agent,
    humanInput: true,
    guardrails: [
      function greetsNobody({ raw }) {
        return did(`judge ${raw}`) >= 0 && raw.startsWith('Hello') ? 'no greeting' : true
      },
      async function isTrimmed({ raw }) {
        await audits.enqueue({ id: 'audit-report' })
        return { output: raw.trim() }
      },
    ],
  })
  return new Crew({
    ...life.options,
    name: 'claims',
    version: '1',
    tasks: [check, escalate, settle, report],
    beforeKickoff: () => ({ name: 'Ada' }),
    onTask: ({ name }) => void did(`task ${name}`),
    onStep: ({ path }) => void did(`step ${path}`),
  })
}
