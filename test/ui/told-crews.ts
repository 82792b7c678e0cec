// Runs with everything that a front end shows, each recorded as streamed to a listener from the start.
import { Agent, Crew, Flow, Task, tool, type Run } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { toUIMessageStream, type UIStreamOptions } from 'reprise/ui'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import { busy, speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import { chunksOf } from './read-message.ts'
import type { RunChunk } from '../../src/ui/chat/chunk-writer.ts'

const lookup = tool({
  name: 'lookup',
  description: 'Look a policy up',
  effect: 'read',
  input: z.object({ policy: z.string() }),
  run: ({ policy }) => {
    if (policy === 'P-0') throw new Error('there is no policy P-0')
    return { policy, holder: 'Ada' }
  },
})
const fileClaim = tool({
  name: 'file_claim',
  description: 'File a claim',
  effect: 'once',
  approval: true,
  input: z.object({ policy: z.string() }),
  run: ({ policy }) => ({ claim: `CL-${policy}` }),
})

export interface Told {
  readonly crew: Followed
  /** In the order in which they were sent, over all lives. */
  readonly chunks: readonly RunChunk[]
}

type Followed = Pick<Crew, 'kickoff' | 'resume' | 'run'>
type Expose = UIStreamOptions['expose']
type Answer = Parameters<Run['answer']>[1]

/** Listens to the run from the start, and answers what it asks, until it rests for good. */
async function told(
  crew: Followed,
  expose: Expose,
  answers: { readonly [question: string]: Answer } = {},
): Promise<Told> {
  let run = await crew.kickoff({ id: 'r' }).started
  const chunks = await chunksOf(toUIMessageStream(run, { expose }))
  for (;;) {
    await run.result().catch(() => undefined)
    const { questions, status } = await run.view()
    const known = questions.filter(({ id }) => id in answers)
    if (status !== 'waiting' || known.length === 0) return { crew, chunks }
    for (const { id } of known) await run.answer(id, answers[id] as Answer)
    run = await crew.resume('r').started
    // one message: what continues it leaves out what was there
    chunks.push(...(await chunksOf(toUIMessageStream(run, { after: entryOf(chunks), expose }))))
  }
}

/** Listens to a run that fails, and to its resume. */
async function toldTwice(crew: Followed, expose: Expose): Promise<Told> {
  const chunks = await chunksOf(toUIMessageStream(await crew.kickoff({ id: 'r' }).started, { expose }))
  const run = await crew.resume('r').started
  chunks.push(...(await chunksOf(toUIMessageStream(run, { after: entryOf(chunks), expose }))))
  return { crew, chunks }
}

function entryOf(chunks: readonly RunChunk[]): number {
  const last = chunks.findLast((chunk) => 'messageMetadata' in chunk && chunk.messageMetadata)
  return last && 'messageMetadata' in last ? (last.messageMetadata?.entry ?? 0) : 0
}

const script = [
  {
    when: 'the facts',
    reply: 'I look it up.',
    calls: [
      { tool: 'lookup', input: { policy: 'P-77' } },
      { tool: 'lookup', input: { policy: 'P-0' } },
    ],
  },
  { when: 'the facts', after: 2, reply: 'Ada has P-77.' },
  { when: 'the claim', reply: 'I file it.', calls: [{ tool: 'file_claim', input: { policy: 'P-77' } }] },
  { when: 'the claim', reply: 'That is done.' },
  { when: 'the note', after: /not short/, reply: 'Dear Ada: done.' },
  { when: 'the note', reply: 'Dear Ada, this is a long note.' },
]

function claims(tasks: readonly ('facts' | 'claim' | 'note')[], parallel = false): Crew {
  const agent = new Agent({
    role: 'Clerk',
    goal: 'Handle claims',
    model: scriptedModel(script),
    tools: [lookup, fileClaim],
  })
  const short = (output: { readonly raw: string }) => output.raw.length < 20 || 'it is not short'
  const beside = parallel ? { context: [] } : {}
  const all = {
    facts: new Task({ name: 'facts', description: 'Collect the facts', agent, ...beside }),
    claim: new Task({ name: 'claim', description: 'File the claim', agent, ...beside }),
    note: new Task({ name: 'note', description: 'Write the note', agent, guardrails: short, ...beside }),
  }
  return new Crew({
    name: 'claims',
    tasks: tasks.map((name) => all[name]),
    store: newStore(),
    ...(parallel ? { process: 'parallel' } : {}),
  })
}

export const plays: { readonly [what: string]: (expose?: Expose) => Promise<Told> } = {
  'tools, one failing': (expose = true) => told(claims(['facts']), expose),
  'an approval': (expose = true) => told(claims(['facts', 'claim', 'note']), expose, { q1: { decision: 'approve' } }),
  'an approval with another input': (expose = true) =>
    told(claims(['claim']), expose, { q1: { decision: 'approve', input: { policy: 'P-78' } } }),
  'an approval that cannot be used, and a second one': (expose = true) =>
    told(claims(['claim']), expose, { q1: { decision: 'approve', input: { policy: 7 } }, q2: { decision: 'approve' } }),
  'a denial': (expose = true) =>
    told(claims(['claim', 'note']), expose, { q1: { decision: 'deny', reason: 'too early' } }),
  'a result that a person gives': (expose = true) =>
    told(claims(['claim']), expose, { q1: { decision: 'use', result: 'CL-1' } }),
  'a task that a person has fail': (expose = true) =>
    told(claims(['claim']), expose, { q1: { decision: 'fail', reason: 'no' } }),
  'an open question': (expose = true) => told(claims(['facts', 'claim']), expose),
  'an answer that a guardrail refuses': (expose = true) => told(claims(['note']), expose),
  'tasks in parallel': (expose = true) =>
    told(claims(['facts', 'claim', 'note'], true), expose, { q1: { decision: 'approve' } }),
  'a reply that breaks off, and thoughts': async (expose = true) => {
    const model = speakingModel((call) =>
      call === 2 ? ['Twi', busy()] : [{ thought: 'Hm.' }, `Reply `, `${call}.`, { thought: 'Or?' }],
    )
    const agent = new Agent({ role: 'Clerk', goal: 'Speak', model })
    const tasks = ['one', 'two'].map((name) => new Task({ name, description: `Say ${name}`, agent }))
    return told(new Crew({ name: 'speaking', tasks, store: newStore() }), expose)
  },
  'a crew as a task': async (expose = true) => {
    const store = newStore()
    const inner = new Task({ name: 'inner', crew: claims(['claim']).with({ store }) })
    const after = new Task({ name: 'after', effect: 'read', run: () => 'over' })
    return told(new Crew({ name: 'outer', tasks: [inner, after], store }), expose, {
      'inner/q1': { decision: 'approve' },
    })
  },
  'a crew that a function kicks off': async (expose = true) => {
    const store = newStore()
    const inner = claims(['claim']).with({ store })
    const run = (): Promise<string> => inner.kickoff({ id: 'inner' }).then(String)
    const kick = new Task({ name: 'kick', effect: 'idempotent', run })
    const outer = new Crew({ name: 'outer', tasks: [kick], store })
    return told(outer, expose, { 'kick/inner/q1': { decision: 'approve' } })
  },
  'crews that speak, one within another': async (expose = true) => {
    const store = newStore()
    const model = speakingModel((call) => (call === 2 ? ['Twi', busy()] : [{ thought: 'Hm.' }, `Reply `, `${call}.`]))
    const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'deep', crew: speakingCrew(model, { store }) })] })
    const agent = new Agent({ role: 'Clerk', goal: 'Speak', model })
    const tasks = [
      new Task({ name: 'first', crew: inner }),
      new Task({ name: 'second', crew: speakingCrew(model, { store, tasks: ['one', 'two'] }) }),
      new Task({ name: 'last', description: 'Say it', agent }),
    ]
    return told(new Crew({ name: 'outer', tasks, store }), expose)
  },
  'a flow that asks and whose agents speak side by side': async (expose = true) => {
    const speaker = (role: string) => new Agent({ role, goal: 'Speak', model: speakingModel(() => [role, ' speaks.']) })
    const flow = new Flow({
      name: 'talks',
      store: newStore(),
      async run(f) {
        const [title, claim] = await Promise.all([
          f.run(speaker('Titler'), 'Find a title'),
          f.run(claims(['facts', 'claim']), {}, { key: 'c1' }),
        ])
        const { output } = await f.run(speaker('Counter'), 'Count it', { name: 'count' })
        return [title.raw, claim.raw, output].join(' ')
      },
    })
    return told(flow, expose, { 'claims[c1]/q1': { decision: 'approve' } })
  },
  'a flow that tries a failed crew again': async (expose = true) => {
    const model = speakingModel((call) => (call === 2 ? ['No', new Error('no')] : [`Reply ${call}.`]))
    const flow = new Flow({
      name: 'talks',
      store: newStore(),
      logger: { info() {}, warn() {} },
      run: async (f) => (await f.run(speakingCrew(model, { tasks: ['one', 'two'] }))).raw,
    })
    return toldTwice(flow, expose)
  },
  'work for a coworker': async (expose = true) => {
    const model = scriptedModel([
      {
        when: 'You are Lead',
        reply: 'I ask.',
        calls: [{ tool: 'delegate_work', input: { coworker: 'Expert', task: 'Dig', context: '' } }],
      },
      { when: 'You are Lead', reply: 'So it is.' },
      { when: 'Dig', reply: 'I look.', calls: [{ tool: 'lookup', input: { policy: 'P-77' } }] },
      { when: 'Dig', reply: 'It is Ada.' },
    ])
    const lead = new Agent({ role: 'Lead', goal: 'Lead', model, allowDelegation: true })
    const expert = new Agent({ role: 'Expert', goal: 'Know', model, tools: [lookup] })
    const tasks = [new Task({ name: 'who', description: 'Find out who it is', agent: lead })]
    return told(new Crew({ name: 'handing', agents: [lead, expert], tasks, store: newStore() }), expose)
  },
  'data between tasks': async (expose = true) => {
    const model = scriptedModel([
      { when: 'Extract', reply: 'I look.', calls: [{ tool: 'lookup', input: { policy: 'P-77' } }] },
      { when: 'Extract', reply: { holder: 'Ada', limit: 900 } },
      { when: 'Write', reply: 'Dear Ada.' },
    ])
    const agent = new Agent({ role: 'Clerk', goal: 'Handle claims', model, tools: [lookup] })
    const output = z.object({ holder: z.string(), limit: z.number() })
    const facts = new Task({ name: 'facts', description: 'Extract the facts', agent, output })
    const note = new Task({ name: 'note', description: 'Write the note', agent })
    return told(new Crew({ name: 'notes', tasks: [facts, note], store: newStore() }), expose)
  },
  'a person who reads the result': async (expose = true) => {
    const agent = new Agent({
      role: 'Clerk',
      goal: 'Write',
      model: scriptedModel([
        { when: 'letter', after: /shorter/, reply: 'Dear Ada.' },
        { when: 'letter', reply: 'My dear Ada.' },
      ]),
    })
    const task = new Task({ name: 'letter', description: 'Write a letter', agent, humanInput: true })
    return told(new Crew({ name: 'letters', tasks: [task], store: newStore() }), expose, {
      q1: { decision: 'revise', feedback: 'shorter' },
      q2: { decision: 'approve' },
    })
  },
}
