// A project that exports what it makes: TypeScript must be able to name each of these types in the project's own
// declarations. Compiled, never run.
import { Agent, Crew, file, Task, tool, type CrewOptions, type Plan, type Run, type RunView } from 'reprise'
import { diffRuns, type RunDiff } from 'reprise/diff'
import { httpDispatcher } from 'reprise/http'
import { fold, type EntryOf } from 'reprise/journal'
import { mcpTools } from 'reprise/mcp'
import { memoryStore, postgresStore } from 'reprise/stores'
import { serveStudio, studio } from 'reprise/studio'
import { faultyStore, onNthCall, scriptedModel } from 'reprise/testing'
import { startWorker } from 'reprise/workers'
import { crewFromYaml, loadAgents, loadTasks } from 'reprise/yaml'
import { z } from 'zod'

export const model = scriptedModel([{ when: 'facts', reply: 'none' }])
export const policy = tool({
  name: 'policy',
  description: 'Reads a policy',
  input: z.object({ id: z.string() }),
  run: ({ id }) => ({ id, ok: true }),
})
export const pay = tool({
  name: 'pay',
  description: 'Pays a claim',
  effect: 'once',
  input: z.object({ id: z.string() }),
  run: async ({ id }, { readFile }) => (await readFile(id)).length,
  settle: () => ({ happened: false }),
})
export const agent = new Agent({ role: 'Clerk', goal: 'Help', tools: [policy, pay], model })
export const facts = new Task({
  name: 'facts',
  description: 'Facts of {notes}',
  agent,
  output: z.object({ text: z.string() }),
})
export const check = new Task({ name: 'check', context: [facts], run: ({ outputs }) => outputs.facts.text.length })
export const note = new Task({
  name: 'note',
  description: 'Note',
  agent,
  context: [facts],
  when: ({ outputs }) => outputs.facts.text !== '',
  guardrails: [({ raw }) => raw.length > 3 || 'too short'],
})
export const crew = new Crew({ name: 'claims', tasks: [facts, check, note] })
export const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'inner', crew, inputs: { notes: '' } })] })
export const tasks: readonly Task[] = [facts]
export const madeAtRunTime = new Crew({ name: 'made', tasks })
export const written = crewFromYaml('crew.jsonc', { name: 'written' })
export const agents = loadAgents('agents.yaml')
export const loaded = loadTasks('tasks.yaml', { agents })
export const servers = await mcpTools({ command: 'server' })
export const scan = file('scan.pdf')
export const store = memoryStore()
export const postgres = await postgresStore('postgres://localhost/runs')
export const faulty = faultyStore(store, onNthCall('append', 3, 'unavailable'))
export const dispatcher = httpDispatcher({ url: 'https://example.com', secret: 's' })
export const worker = await startWorker([crew], { dispatcher })
export const page = studio({ crews: [crew] })
export const server = await serveStudio({ crews: [crew] })

export const promise = crew.kickoff({ inputs: { notes: '' } })
export const run = await promise.started
export const result = await promise
export const task = result.task('facts')
export const view = await run.view()
export const plan = await run.plan()
export const events = run.events()
export const lineage = await run.lineage()
export const difference = await run.diff('other')
export const runs = crew.runs()
export const summaries = await runs.page()
export const checks = crew.check()
export const schedule = await crew.schedule({ cron: '0 3 * * *', inputs: { notes: '' } })
export const backtest = await crew.backtest('facts')
export const outcome = await crew.advance('r1')
export const outcomes = await crew.resumeAll()
export const results = await crew.kickoffForEach([{ notes: '' }])
export const pruned = await crew.prune({ keep: 3 })
export const imported = await crew.import('run.jsonl')
export const writtenView = await written.run('r1').view()
export const madeResult = await madeAtRunTime.run('r1').result()
export const sameRun = (other: Run) => other
export const sameCrew = (other: Crew) => other
export const reading = { fold, diffRuns }

// types without names, as docs/reference/library.md has them
export type Estimate = Plan['estimate']
export type Status = RunView['status']
export type TaskDiff = RunDiff['tasks'][number]
export type Telemetry = NonNullable<CrewOptions['telemetry']>
export type Usage = EntryOf<'model.replied'>['usage']
