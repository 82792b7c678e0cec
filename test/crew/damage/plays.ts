// Two crews whose stores are disturbed, and the full outcome of a run: in the store and outside.
import assert from 'node:assert/strict'
import { Agent, Crew, Task, tool, type OpenQuestion } from 'reprise'
import type { Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { crew as claims, inputs as claimsInputs } from '../../../examples/claims-triage/crew.ts'
import { entriesOf } from '../../engine/support.ts'
import type { Decision } from '../../../src/crew/verbs/shared-options.ts'

const logger = { info() {}, warn() {} }

/** What came of a run, and what happened outside on the way: every question to a model and every call of a tool. */
interface Played {
  readonly output: string
  readonly happened: readonly string[]
}

export type Play = (store: Store) => Promise<Played>

async function demo(store: Store): Promise<Played> {
  const happened: string[] = []
  const model = scriptedModel([
    { when: 'Extract the facts', reply: { policy: 'P-77', lossDate: '2026-05-03', issue: 'burst pipe' } },
    { when: 'Assess the claim', after: 1, calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }] },
    { when: 'Assess the claim', after: 2, reply: 'CL-0001: covered, excess 250.' },
    {
      when: 'Assess the claim',
      calls: [{ tool: 'file_claim', input: { policy: 'P-77', lossDate: '2026-05-03', issue: 'burst pipe' } }],
    },
    { when: 'Write a note', reply: 'Next: send an assessor.' },
  ])
  const tools = [
    tool({
      name: 'lookup_policy',
      description: 'Look a policy up',
      effect: 'read',
      input: z.object({ number: z.string() }),
      run: ({ number }) => `looked up ${happened.push(`lookup ${number}`) && number}`,
    }),
    tool({
      name: 'file_claim',
      description: 'File a claim',
      effect: 'once',
      input: z.object({ policy: z.string(), lossDate: z.string(), issue: z.string() }),
      run: ({ policy }) => ({ claim: `CL ${happened.push(`file ${policy}`) && policy}` }),
    }),
  ]
  const crew = new Crew({ name: claims.name, tasks: claims.tasks, logger }).with({ model, tools, store })
  const output = String(await crew.kickoff({ id: 'r', inputs: claimsInputs }))
  return { output, happened: [...happened, ...model.calls.map((call) => call.lastMessage)] }
}

const answers: { readonly [kind in OpenQuestion['kind']]?: Decision } = {
  call: { decision: 'approve' },
  result: { decision: 'approve' },
}

/** Two parallel tasks, one a nested crew that asks a person, and a task after both. */
async function family(store: Store): Promise<Played> {
  const happened: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    effect: 'once',
    approval: true,
    input: z.object({ amount: z.number() }),
    run: ({ amount }) => `paid ${happened.push(`pay ${amount}`) && amount}`,
  })
  const model = scriptedModel([
    { when: 'Task: Find', reply: 'found' },
    { when: 'Task: Settle', calls: [{ tool: 'pay', input: { amount: 7 } }] },
    { when: 'Task: Settle', reply: 'settled' },
    { when: 'Task: Weigh', reply: 'weighed' },
    { when: 'Task: Sum up', reply: (text) => `${/paid \d/.exec(text)?.[0] ?? 'all'} done` },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'Work', model, tools: [pay] })
  const find = new Task({ name: 'find', description: 'Find', agent, humanInput: true })
  const settle = new Task({ name: 'settle', description: 'Settle', agent })
  const research = new Task({
    name: 'research',
    context: [],
    crew: new Crew({ name: 'research', tasks: [find, settle], logger }),
  })
  const weigh = new Task({ name: 'weigh', description: 'Weigh', context: [], agent })
  const file = new Task({
    name: 'file',
    context: [research, weigh],
    effect: 'once',
    run: ({ outputs }) => `filed ${happened.push('file') && Object.keys(outputs).toString()}`,
  })
  const sum = new Task({ name: 'sum', description: 'Sum up', context: [file], agent })
  const crew = new Crew({ name: 'family', tasks: [research, weigh, file, sum], process: 'parallel', store, logger })
  let result = await crew.kickoff({ id: 'r' })
  for (let round = 0; result.status === 'suspended' && round < 5; round++) {
    for (const { id, kind } of result.questions) await crew.run('r').answer(id, answers[kind] as Decision)
    result = await crew.resume('r')
  }
  assert.equal(result.status, 'completed')
  assert.equal((await Array.fromAsync(crew.runs())).length, 1)
  return { output: String(result), happened: [...happened, ...model.calls.map((call) => call.lastMessage)] }
}

const runsOf = { 'the demo': ['r'], 'a crew with a crew within and questions': ['r', 'r/research#1'] }
export type PlayName = keyof typeof runsOf
export const plays: { readonly [name in PlayName]: Play } = {
  'the demo': demo,
  'a crew with a crew within and questions': family,
}

/** With what the journals say of it: neither a failure, nor anything twice. */
export async function outcomeOf(name: PlayName, store: Store, inner = store): Promise<object> {
  const { output, happened } = await plays[name](store)
  const journals = []
  for (const run of runsOf[name]) {
    const entries = await entriesOf(inner, run)
    journals.push(entries.map(({ type, path = '' }) => `${type} ${path}`).toSorted())
    assert.equal((await inner.row(run))?.status, 'completed')
    assert.equal(await inner.holder(run), undefined)
    assert.deepEqual(await inner.inbox(run), [])
  }
  return { output, happened: happened.toSorted(), journals }
}
