// Crews of the crash tests whose work reaches beyond a task's conversation: into a child run, into files, to an MCP
// server, to a listener; or beyond a limit: a budget, the model's window.
import { join } from 'node:path'
import { createOpenAI } from '@ai-sdk/openai'
import { Agent, Crew, file, Task, tool } from 'reprise'
import { mcpTools } from 'reprise/mcp'
import { z } from 'zod'
import { functionOf, measure, taskOf } from './crew-parts.ts'
import { leaveTrace, serverLog } from './effects.ts'

/** A crew with a nested crew, whose run asks a person and makes a `once` call. */
export function nested(): Crew {
  return new Crew({
    name: 'nested',
    tasks: [new Task({ name: 'research', crew: research() }), taskOf('report', 'Plain')],
  })
}

function research(): Crew {
  const find = taskOf('find', 'Measure', { tools: [measure], humanInput: true })
  return new Crew({ name: 'research', tasks: [find, functionOf('save', 'saved', 'once')] })
}

/** A file is an input, and each output is written to a file. */
export function files(): Crew {
  const sum = taskOf('sum', 'Sum up {claim}', {
    output: z.object({ total: z.number() }),
    outputFile: '{folder}/out/sum.json',
  })
  const letter = taskOf('letter', 'Write a letter', { markdown: true, outputFile: '{folder}/out/{claim}.md' })
  return new Crew({ name: 'files', tasks: [sum, letter] })
}

/** The budget is used up between two turns of the second task. */
export function limits(): Crew {
  const tasks = [taskOf('a', 'Plain'), taskOf('b', 'Measure', { tools: [measure] })]
  return new Crew({ name: 'limits', tasks, budget: { tokens: 16 } })
}

/** The model reads a page twice, from the cache the second time, and two pages are too much for its window. */
export function long(): Crew {
  const page = tool({
    name: 'page',
    description: 'Read the page',
    effect: 'read',
    cache: true,
    input: z.object({}),
    run(_, { runId: run, task }) {
      leaveTrace(run, `page of ${task}`)
      return 'word '.repeat(200)
    },
  })
  const reader = new Agent({
    role: 'Reader',
    goal: 'Read',
    backstory: 'You read. '.repeat(200),
    maxRetries: 0,
    contextTokens: 1000,
    tools: [page],
  })
  return new Crew({ name: 'long', tasks: [taskOf('book', 'Read it', { agent: reader })] })
}

/** Tools of an MCP server over stdio: one is idempotent, one is `once`. */
export async function served(run: string, stack: AsyncDisposableStack): Promise<Crew> {
  const { tools } = stack.use(
    await mcpTools({
      command: process.execPath,
      args: [process.env['MCP_SCRIPT'] ?? ''],
      env: { MCP_LOG: serverLog(run) },
      only: ['put', 'send'],
    }),
  )
  return new Crew({ name: 'served', tasks: [taskOf('post', 'Post it', { tools })] })
}

/** The same tools over HTTP: the server survives when its client is killed. */
export async function servedByHttp(run: string, stack: AsyncDisposableStack): Promise<Crew> {
  const url = process.env['MCP_URL'] ?? ''
  const { tools } = stack.use(await mcpTools({ url, headers: { 'x-run': run } }))
  return new Crew({ name: 'servedByHttp', tasks: [taskOf('post', 'Post it', { tools })] })
}

/** A crew whose models have a listener. */
export function spoken(): Crew {
  return new Crew({ name: 'spoken', tasks: [taskOf('a', 'Measure', { tools: [measure] }), taskOf('b', 'Plain')] })
}

/** The provider searches the web in the reply that also calls `measure`, and again in the last reply. */
export function searching(): Crew {
  const openai = createOpenAI({ apiKey: 'none', baseURL: process.env['OPENAI_BASE_URL'] ?? '' })
  const agent = new Agent({
    role: 'Searcher',
    goal: 'Search',
    maxRetries: 0,
    model: openai.responses('gpt-test'),
    tools: { search: openai.tools.webSearch(), measure },
  })
  return new Crew({ name: 'searching', tasks: [taskOf('find', 'Search', { agent }), taskOf('note', 'Plain')] })
}

/** The inputs of a run of a crew. `claim.pdf` is in the run's folder. */
export function inputsOf(crew: string, run: string) {
  const notes = `run:${run};`
  return crew === 'files' ? { notes, folder: run, claim: file(join(run, 'claim.pdf')) } : { notes }
}
