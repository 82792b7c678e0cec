// Two tasks: the facts of a claim, and a note on it. Every step is recorded in .reprise/ before it is used. So a run
// can be stopped at any time and continues where it stopped, and any task of any run can be executed again.
import { Agent, Crew, Task } from 'reprise'
import { z } from 'zod'
import { fileClaim, lookupPolicy } from './tools.ts'

// An agent without its own model uses REPRISE_MODEL, which .env sets.
const analyst = new Agent({
  role: 'Claims analyst',
  goal: 'Establish what happened, and whether the policy covers it',
  tools: [lookupPolicy],
})
const clerk = new Agent({
  role: 'Claims clerk',
  goal: 'File claims, and tell people what happens next',
  tools: [fileClaim],
})

// {notes} and {reader} are the inputs of the crew. If one of them is missing, the run is refused before anything is
// spent.
export const facts = new Task({
  name: 'facts',
  description: 'Look the policy up and extract the facts of this claim: {notes}',
  agent: analyst,
  output: z.object({ policy: z.string(), issue: z.string(), covered: z.boolean() }),
})
export const note = new Task({
  name: 'note',
  description: 'File the claim, then write a note on it for {reader}',
  expectedOutput: 'At most three sentences, with the number of the claim',
  agent: clerk,
})

export const crew = new Crew({ name: 'my-crew', tasks: [facts, note] })
