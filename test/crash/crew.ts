// The crew of the crash tests: 3 tasks, 8 model calls and 6 tool calls; two of these run in parallel, and two are
// `once`. Every tool leaves a line in a file when it runs, so that effects are counted outside the process that may be
// killed.
import { Agent, Crew, Task, tool, type ToolContext } from 'reprise'
import { z } from 'zod'
import { leaveTrace, wasDone } from './effects.ts'

function trace(name: string, { runId: run, idempotencyKey }: ToolContext): void {
  leaveTrace(run, `${name} ${idempotencyKey}`)
}

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run({ number }, context) {
    trace('lookup_policy', context)
    return { number, since: new Date('2020-01-01') }
  },
})

const lookupWeather = tool({
  name: 'lookup_weather',
  description: 'The weather of a day',
  effect: 'read',
  input: z.object({ day: z.string() }),
  run(_, context) {
    trace('lookup_weather', context)
    return 'heavy rain'
  },
})

const fileClaim = tool({
  name: 'file_claim',
  description: 'File the claim',
  effect: 'once',
  input: z.object({ policy: z.string() }),
  run({ policy }, context) {
    trace('file_claim', context)
    return { claim: `C-${policy}` }
  },
  // settled from the ledger
  settle(key, { policy }) {
    return wasDone(`file_claim ${key}`) ? { happened: true, result: { claim: `C-${policy}` } } : { happened: false }
  },
})

const notify = tool({
  name: 'notify',
  description: 'Write to the holder',
  effect: 'once',
  input: z.object({ text: z.string() }),
  run(_, context) {
    trace('notify', context)
    return 'sent'
  },
})

const stamp = tool({
  name: 'stamp',
  description: 'Stamp the note',
  effect: 'idempotent',
  input: z.object({}),
  run(_, context) {
    trace('stamp', context)
    return 'stamped'
  },
})

const clerk = new Agent({
  role: 'Clerk',
  goal: 'Get claims done for {notes}',
  tools: [lookupPolicy, lookupWeather, fileClaim, notify, stamp],
})
const facts = new Task({
  name: 'facts',
  description: 'Collect the facts',
  agent: clerk,
  output: z.object({ policy: z.string(), reported: z.string().transform((day) => new Date(day)) }),
})
const filing = new Task({ name: 'filing', description: 'File what was found', agent: clerk })
const note = new Task({ name: 'note', description: 'Write the note', agent: clerk })

export const crew = new Crew({ name: 'crash', tasks: [facts, filing, note] })
