// A process, possibly killed, that calls agent.kickoff with the given store and prints the outcome. The tool of the
// agent appends a line to a file.
import { appendFileSync } from 'node:fs'
import { Agent, tool } from 'reprise'
import { z } from 'zod'

if (import.meta.main) {
  const [store = '', ledger = ''] = process.argv.slice(2)
  const count = tool({
    name: 'count',
    description: 'Count',
    effect: 'idempotent',
    input: z.object({ of: z.string() }),
    run: ({ of }) => {
      appendFileSync(ledger, `${of}\n`)
      return 3
    },
  })
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model: 'openai/gpt-test', maxRetries: 0, tools: [count] })
  const output = z.object({ sum: z.number() })
  const { status, output: answer, usage } = await agent.kickoff('How many?', { id: 'k', store, output })
  process.stdout.write(JSON.stringify({ status, sum: answer?.sum, calls: usage.spent.calls }))
}
