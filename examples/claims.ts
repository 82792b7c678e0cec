// claims.ts
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'

const policies: Record<string, { holder: string; since: Date }> = { 'P-77': { holder: 'Ada', since: new Date('2020-01-01') } }
const lookup = tool({
  name: 'lookup_policy', description: 'Look a policy up by its number', effect: 'read',
  input: z.object({ number: z.string() }), run: ({ number }) => policies[number] ?? 'no such policy',
})
const analyst = new Agent({ role: 'Claims analyst', goal: 'Collect the facts of a claim', tools: [lookup] })
export const facts = new Task({ name: 'facts', description: 'Extract the facts from: {notes}', agent: analyst,
  output: z.object({ policy: z.string(), lossDate: z.string(), issue: z.string() }) })
export const note = new Task({ name: 'note', description: 'Write a triage note', expectedOutput: 'a short note', agent: analyst, context: [facts] })
export const crew = new Crew({ name: 'claims', agents: [analyst], tasks: [facts, note] })

if (import.meta.main) {
  const result = await crew.kickoff({ inputs: { notes: 'Policy P-77, water in the cellar on 3 May.' } })
  console.log(String(result), result.runId, result.task(facts).output?.policy)
  const again = await crew.replay(note)         // the latest run; facts restored, note executed again
  console.log(again.runId, again.task(facts).status)
}

// Output:
// Water damage under policy P-77 (Ada), 3 May: send an assessor. 01a1df06-ddda-756a-8867-b8383a28b4ff P-77
// 01a1df06-de5f-70b2-a25d-c76ae6c5ac41 inherited
