// The crew of the service: facts, filing, note. A claim must not be filed twice, and a person approves the note.
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'

/** The claims system: a file with a line for every claim. It is slow to confirm. */
const ledger = process.env['CLAIMS_LEDGER'] ?? '.reprise/ledger.txt'
const confirmMs = Number(process.env['CLAIMS_CONFIRM_MS'] ?? 1000)

/** Returns the number of the claim that was filed with this key, if there is one. */
async function filedAs(key: string): Promise<string | undefined> {
  const lines = (await readFile(ledger, 'utf8').catch(() => '')).split('\n')
  const line = lines.findIndex((text) => text.startsWith(`${key} `))
  return line === -1 ? undefined : `CL-${String(line + 1).padStart(4, '0')}`
}

const fileClaim = tool({
  name: 'file_claim',
  description: 'File a claim; returns its number',
  effect: 'once',
  input: z.object({ policy: z.string(), issue: z.string() }),
  async run({ policy, issue }, { idempotencyKey }) {
    await mkdir(dirname(ledger), { recursive: true })
    await appendFile(ledger, `${idempotencyKey} ${policy} ${issue}\n`)
    await wait(confirmMs)
    return { claim: await filedAs(idempotencyKey) }
  },
  // called after a crash: was the claim filed before the process died?
  async settle(idempotencyKey) {
    const claim = await filedAs(idempotencyKey)
    return claim === undefined ? { happened: false } : { happened: true, result: { claim } }
  },
})

const analyst = new Agent({ role: 'Claims analyst', goal: 'Establish what happened, and under which policy' })
const adjuster = new Agent({ role: 'Claims adjuster', goal: 'Get claims filed', tools: [fileClaim] })

const facts = new Task({
  name: 'facts',
  description: 'Extract the facts from these case notes: {notes}',
  agent: analyst,
  output: z.object({ policy: z.string(), issue: z.string() }),
})
const filing = new Task({ name: 'filing', description: 'File the claim and give its number.', agent: adjuster })
const note = new Task({
  name: 'note',
  description: 'Write a note on this claim for the customer.',
  agent: analyst,
  humanInput: true,
})

export const crew = new Crew({ name: 'claims-service', tasks: [facts, filing, note] })
