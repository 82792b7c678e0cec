// A claim, from the notes of a call to a note on what happens next: the facts are extracted, a person decides what the
// policy does not cover, the claim is filed, and the note is written until it names the claim. Every step is recorded
// in .reprise/ before the next one begins, so a run can be stopped at any time and continues where it stopped.
import { Agent, Flow } from 'reprise'
import { z } from 'zod'
import { fileClaim, lookupPolicy } from './tools.ts'

// An agent without its own model uses REPRISE_MODEL, which .env sets.
const analyst = new Agent({
  role: 'Claims analyst',
  goal: 'Establish what happened, and whether the policy covers it',
  tools: [lookupPolicy],
})
const clerk = new Agent({ role: 'Claims clerk', goal: 'Tell people what happens next, in at most three sentences' })

const facts = z.object({ policy: z.string(), issue: z.string(), covered: z.boolean() })

export const claims = new Flow({
  name: 'my-crew',
  inputs: z.object({ notes: z.string(), reader: z.string() }),
  // called again whenever the run continues: what has an effect, or takes time, belongs into steps
  async run(flow) {
    const { notes, reader } = flow.inputs
    const prompt = `Look the policy up and extract the facts of this claim: ${notes}`
    const { policy, issue, covered } = (await flow.run(analyst, prompt, { name: 'facts', output: facts })).output

    if (!covered) {
      const question = `Policy ${policy} does not cover this: ${issue}. File the claim anyway?`
      if (!(await flow.ask('file-anyway', question, z.boolean()))) return `For ${reader}: the claim was refused.`
    }
    const { claim } = await flow.run(fileClaim, { policy, issue })

    for (let round = 1; round <= 3; round++) {
      const advice = round > 1 ? 'Your last note did not have the number of the claim. ' : ''
      const task = `${advice}Write a note on claim ${claim} (${issue}) for ${reader}.`
      const note = await flow.run(clerk, task, { name: 'note', key: round })
      if (note.raw.includes(claim)) return note.raw
    }
    return flow.ask('note', `What shall ${reader} read about claim ${claim}?`)
  },
})
