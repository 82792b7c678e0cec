// The crew of the crash tests: 3 tasks, 8 model calls, 6 tool calls, of which two run in parallel and two are `once`. Every tool
// leaves a line in a file when it runs, so that what happened is counted outside the process that may be killed.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, Crew, Task, tool, type ToolContext } from 'reprise'
import { z } from 'zod'

const ledger = join(process.env['EFFECTS_FOLDER'] ?? '.', 'effects.log')

function leaveTrace(name: string, { idempotencyKey }: ToolContext): void {
  appendFileSync(ledger, `${name} ${idempotencyKey}\n`)
}

/** What was done, as lines of tool and key. */
export function effects(folder: string): string[] {
  const file = join(folder, 'effects.log')
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n') : []
}

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run({ number }, context) {
    leaveTrace('lookup_policy', context)
    return { number, since: new Date('2020-01-01') }
  },
})

const lookupWeather = tool({
  name: 'lookup_weather',
  description: 'The weather of a day',
  effect: 'read',
  input: z.object({ day: z.string() }),
  run(_, context) {
    leaveTrace('lookup_weather', context)
    return 'heavy rain'
  },
})

const fileClaim = tool({
  name: 'file_claim',
  description: 'File the claim',
  effect: 'once',
  input: z.object({ policy: z.string() }),
  run({ policy }, context) {
    leaveTrace('file_claim', context)
    return { claim: `C-${policy}` }
  },
  // it can find out by itself, from the ledger
  settle(key, { policy }) {
    const done = existsSync(ledger) && readFileSync(ledger, 'utf8').includes(`file_claim ${key}\n`)
    return done ? { happened: true, result: { claim: `C-${policy}` } } : { happened: false }
  },
})

const notify = tool({
  name: 'notify',
  description: 'Write to the holder',
  effect: 'once',
  input: z.object({ text: z.string() }),
  run(_, context) {
    leaveTrace('notify', context)
    return 'sent'
  },
})

const stamp = tool({
  name: 'stamp',
  description: 'Stamp the note',
  effect: 'idempotent',
  input: z.object({}),
  run(_, context) {
    leaveTrace('stamp', context)
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
