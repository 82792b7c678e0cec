// Claims triage: facts, assessment, note. Run it, stop it at any time (Ctrl-C, kill -9, pull the plug), run it again:
// it continues after the last step that it recorded, and the claim is filed once.
//
//   OPENAI_API_KEY=sk-… npx node --conditions=reprise-source examples/claims-triage/crew.ts
//   OPENAI_API_KEY=sk-… npx node --conditions=reprise-source examples/claims-triage/crew.ts replay "the customer"
//
// The second line writes the note again for another reader; everything before it is taken from the run. Set
// OPENAI_BASE_URL for any OpenAI-compatible server, REPRISE_MODEL for another model, REPRISE_STORE for another store.
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'

const policies = new Map([
  [
    'P-77',
    {
      holder: 'Ada Lovelace',
      cover: 'home contents, water damage included',
      excess: 250,
      since: new Date('2020-01-01'),
    },
  ],
])

/** A `read` does no harm: Reprise repeats a look-up that a crash has interrupted. */
const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  async run({ number }) {
    await wait(1500) // the policy system is old
    return policies.get(number) ?? `there is no policy ${number}`
  },
})

/** Filing twice would be a second claim: Reprise never repeats this call without asking. */
const fileClaim = tool({
  name: 'file_claim',
  description: 'File a claim in the ledger of claims; returns the claim number',
  effect: 'once',
  input: z.object({ policy: z.string(), lossDate: z.string(), issue: z.string() }),
  async run({ policy, lossDate, issue }, { runId }) {
    const ledger = process.env['CLAIMS_LEDGER'] ?? '.reprise/ledger.txt'
    await mkdir(dirname(ledger), { recursive: true })
    const lines = (await readFile(ledger, 'utf8').catch(() => '')).split('\n').length
    const claim = `CL-${String(lines).padStart(4, '0')}`
    await appendFile(ledger, `${claim} ${policy} ${lossDate} ${issue} (run ${runId}, process ${process.pid})\n`)
    return { claim }
  },
})

const analyst = new Agent({
  role: 'Claims analyst',
  goal: 'Establish what happened, when, and under which policy',
  backstory: 'You have triaged insurance claims for twenty years and never guess.',
})
const adjuster = new Agent({
  role: 'Claims adjuster',
  goal: 'Decide what happens next with a claim',
  tools: [fileClaim, lookupPolicy],
})

export const facts = new Task({
  name: 'facts',
  description: 'Extract the facts from these case notes: {notes}',
  agent: analyst,
  output: z.object({ policy: z.string(), lossDate: z.iso.date(), issue: z.string() }),
})
export const assessment = new Task({
  name: 'assessment',
  description:
    'Assess the claim: file it with file_claim, then look the policy up, then say whether the loss is covered.',
  expectedOutput: 'The claim number, covered or not, the excess, and why, in two sentences',
  agent: adjuster,
})
export const note = new Task({
  name: 'note',
  description: 'Write a note on this claim for {reader}, with the next step.',
  expectedOutput: 'A note of at most three sentences',
  agent: analyst,
})
export const crew = new Crew({ name: 'claims-triage', agents: [analyst, adjuster], tasks: [facts, assessment, note] })

export const runId = 'claim-4711'
export const inputs = {
  notes:
    'Caller A. Lovelace, policy P-77. On 3 May 2026 a pipe burst; the cellar stood under water, a washing machine is ruined.',
  reader: 'the claims team',
}

if (import.meta.main) {
  const [command, reader = 'the customer'] = process.argv.slice(2)
  const result =
    command === 'replay'
      ? await crew.replay(note, { runId, inputs: { reader } })
      : await crew.kickoff({ id: runId, inputs }) // starts the run, continues it, or reads its result back
  console.log(String(result))
}

// Output:
// CL-0001 (P-77): cellar flooded by a burst pipe on 3 May 2026, washing machine lost. Covered, excess 250. Next: send an assessor this week.
