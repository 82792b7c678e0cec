// The tutorial "persisting agent state", step by step. A crew has what the tutorial builds by hand (a state file, a
// save after every task, resume logic); a script only has to name its run. Run this twice: the second start skips the
// finished tasks. Stop it at any point, or remove a task's "task.completed" line from the state file, and the next
// start executes only what is missing.
import { existsSync } from 'node:fs'
import { Agent, Crew, Task } from 'reprise'

// Step 1: the key. OPENAI_API_KEY in the environment is enough; a .env file is read if there is one.
if (existsSync('.env')) process.loadEnvFile()

// Step 2: an agent, and tasks with a clear input and output.
const researcher = new Agent({
  role: 'Claims Researcher',
  goal: 'Collect relevant facts from the case notes',
  backstory: 'You work on insurance operations and summarize case details accurately.',
  verbose: true,
})
export const analyzeTask = new Task({
  name: 'analyze_task',
  description:
    'Review the case notes and extract key facts: policy number, loss date, and issue summary. The notes: {notes}',
  expectedOutput: 'A concise bullet list with the extracted facts.',
  agent: researcher,
})
export const draftTask = new Task({
  name: 'draft_task',
  description: 'Turn the extracted facts into an internal triage note for the claims team.',
  expectedOutput: 'A short internal note with next actions.',
  agent: researcher,
})

// Step 3: the persistence layer. One readable file per run, a line for every step.
export const crew = new Crew({
  name: 'claims-notes',
  agents: [researcher],
  tasks: [analyzeTask, draftTask],
  process: 'sequential',
  store: 'file:.reprise/crew-state',
  verbose: true,
})
export const id = 'case-1'
export const inputs = { notes: 'Policy P-77, water in the cellar on 3 May.' }

if (import.meta.main) {
  // Step 4: one task at a time. When this resolves, the result is on disk.
  const analyzed = await crew.kickoff({ id, inputs, through: analyzeTask })
  console.log(analyzed.task(analyzeTask).raw)

  // Step 5: resume. What is done is skipped; a finished run is read back without asking the model.
  const final = await crew.kickoff({ id, inputs })
  console.log(final.task(draftTask).raw)

  // Step 6: status, timestamps, ids.
  const state = await crew.run(id).view()
  console.log(`Run ${state.runId} is ${state.status} after ${state.lives} lives, last changed at ${state.updatedAt}`)
  for (const task of state.tasks) console.log(`${task.name} (${task.id}) ${task.status} at ${task.completedAt}`)
}

// Output:
// - policy number: P-77
// - loss date: 3 May
// - issue: water in the cellar
// P-77: water in the cellar on 3 May. Next: send an assessor.
// Run case-1 is completed after 2 lives, last changed at 2026-11-15T11:45:32.922Z
// analyze_task (b85e5deb-a900-8919-bafb-1f51e7ac4726) executed at 2026-11-15T11:45:32.885Z
// draft_task (4f673fd0-e63c-8f90-a5be-942599db56af) executed at 2026-11-15T11:45:32.920Z
