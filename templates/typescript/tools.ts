// The tools of the agents. `effect` decides about a call that was interrupted: a `read` call is repeated; a `once` call
// is never repeated without asking you whether it happened.
import { randomInt } from 'node:crypto'
import { appendFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import { tool } from 'reprise'
import { z } from 'zod'

const policies: { readonly [number: string]: object } = {
  'P-77': { holder: 'Ada Lovelace', covers: ['water', 'fire'], excess: 250 },
}

export const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  async run({ number }, { signal }) {
    await wait(2000, undefined, { signal }) // a slow system, and enough time to try Ctrl-C
    return policies[number] ?? `there is no policy ${number}`
  },
})

export const fileClaim = tool({
  name: 'file_claim',
  description: 'File a claim; returns its number',
  effect: 'once',
  // approval: true, // a person is asked before each claim is filed
  input: z.object({ policy: z.string(), issue: z.string() }),
  async run({ policy, issue }) {
    const claim = `CL-${randomInt(1000, 10_000)}`
    await appendFile(new URL('claims.txt', import.meta.url), `${claim} ${policy} ${issue}\n`)
    return { claim }
  },
})
