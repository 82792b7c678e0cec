// Changes one prompt of a crew that has a history. It shows what would be executed and why, executes only that, shows what
// differs, and tests the new prompt on the earlier runs. Tasks that don't depend on the change keep the outputs that were
// paid for.
import { Agent, Crew, Task } from 'reprise'
import { z } from 'zod'

const clerk = new Agent({ role: 'Claims clerk', goal: 'Handle claims fairly' })

/** The crew as it is in your code today; `urgency` is the prompt that you are about to change. */
export function crewWith(urgency: string) {
  const facts = new Task({
    name: 'facts',
    description: 'Extract the facts from: {notes}',
    agent: clerk,
    output: z.object({ policy: z.string(), issue: z.string() }),
  })
  const cover = new Task({ name: 'cover', description: 'Is this covered?', agent: clerk, context: [facts] })
  const urgent = new Task({ name: 'urgent', description: urgency, agent: clerk, context: [facts] })
  const letter = new Task({ name: 'letter', description: 'Write the letter', agent: clerk, context: [cover, urgent] })
  // dollars per million tokens, for a model whose price is not known
  const prices = { 'openai/gpt-5-mini': { input: 0.25, output: 2 } }
  return new Crew({ name: 'claims-letters', tasks: [facts, cover, urgent, letter], prices })
}

if (import.meta.main) {
  const before = crewWith('How urgent is it?')
  const claims = [{ notes: 'P-1: water in the cellar' }, { notes: 'P-2: a scratched door' }]
  await before.kickoffForEach(claims, { id: 'monday', concurrency: 1 })

  const crew = crewWith('How urgent is it, and why?')
  console.log(String(await crew.plan({ runId: 'monday-1' })))

  const fresh = await crew.refresh({ runId: 'monday-1' })
  console.log(fresh.tasks.map((task) => `${task.name} ${task.status}`).join(', '))
  console.log(`the first task that differs: ${(await crew.run('monday-1').diff(fresh.runId)).first}`)

  console.log(String(await crew.backtest('urgent', { runs: ['monday-1', 'monday-2'] })))
}

// Output:
// A new run from run monday-1: 2 of 4 tasks are executed
//   inherit  facts   its output is recorded
//   inherit  cover   its output is recorded
//   execute  urgent  description changed; about 109 tokens, <$0.0001 (median of 2)
//   execute  letter  it depends on urgent, which is executed (unless urgent returns the same as before); about 108 tokens, <$0.0001 (median of 2)
// Expected: about 217 tokens, <$0.0001
// facts inherited, cover inherited, urgent executed, letter executed
// the first task that differs: urgent
// Backtest of urgent on 2 runs: 1 equal, 1 different, 0 failed
//   monday-1  different
//     old: Urgent.
//     new: Urgent: the water may rise.
//   monday-2  equal
// Tokens: 216 then, 225 now; cost: <$0.0001 then, <$0.0001 now
