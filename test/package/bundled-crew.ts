// The program that the tests of bundles bundle: it does one thing with a crew and prints the outcome.
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'

const [action, store] = process.argv.slice(2)

const lookup = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: ({ number }) => ({ number, holder: 'Ada', since: new Date('2020-01-01') }),
})
const analyst = new Agent({ role: 'Claims analyst', goal: 'Collect the facts of a claim', tools: [lookup] })
const facts = new Task({
  name: 'facts',
  description: 'Extract the facts from: {notes}',
  agent: analyst,
  output: z.object({ policy: z.string(), lossDate: z.string(), issue: z.string() }),
})
const note = new Task({ name: 'note', description: 'Write a triage note', agent: analyst })
const crew = new Crew({ name: 'claims', tasks: [facts, note], ...(store === undefined ? {} : { store }) })

const result =
  action === 'replay'
    ? await crew.replay(note)
    : await crew.kickoff({
        id: 'claim-1',
        inputs: { notes: 'water in the cellar' },
        ...(action === 'begin' ? { through: 'facts' } : {}),
      })
console.log(JSON.stringify({ status: result.status, outputs: result.tasks.map((task) => task.output ?? null) }))
