// Thousands of runs at once in one process, on a model that takes a second: the processor time of a durable model task,
// compared with that of the same calls through the AI SDK alone. Each side has its own process.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { generateText, type LanguageModel } from 'ai'
import { Agent, Crew, Task } from 'reprise'
import { median } from './rounds.ts'
import type { Figure } from './report.ts'

const tasks = 4
const modelMs = 1_000
const rounds = 3
const letter = 'Dear customer, your claim is covered. '.repeat(10)

interface Usage {
  readonly cpuMs: number
  readonly seconds: number
}

export async function benchCapacity(folder: string): Promise<Figure[]> {
  return [...(await measure(folder, 1_000)), ...(await measure(folder, 3_000))]
}

async function measure(folder: string, runs: number): Promise<Figure[]> {
  const start = (side: string): ChildProcess => fork(import.meta.filename, [side, join(folder, `${runs}.db`)])
  const sides = { sdk: start('sdk'), reprise: start('reprise') }
  const taken = { sdk: [] as Usage[], reprise: [] as Usage[] }
  // the first round warms up
  for (let round = 0; round <= rounds; round++) {
    for (const name of ['sdk', 'reprise'] as const) {
      sides[name].send(runs)
      const usage = await reportOf(sides[name])
      if (round > 0) taken[name].push(usage)
    }
  }
  for (const side of Object.values(sides)) side.disconnect()
  const cpu = (of: readonly Usage[]): number => median(of.map(({ cpuMs }) => cpuMs)) / (runs * tasks)
  const rate = (of: readonly Usage[]): number => (runs * tasks) / median(of.map(({ seconds }) => seconds))
  const among = `${runs.toLocaleString('en')} runs at once`
  return [
    {
      name: `processor time of a durable model task / the call through the AI SDK alone, ${among}`,
      value: cpu(taken.reprise) / cpu(taken.sdk),
      target: { most: 2 },
      note: `${cpu(taken.reprise).toFixed(2)} against ${cpu(taken.sdk).toFixed(2)} ms`,
    },
    {
      name: `model tasks a second, ${among}`,
      value: rate(taken.reprise),
      unit: 'a second',
      ...(runs === 3_000 ? { target: { least: 2_000 } } : {}),
      note: `AI SDK alone ${rate(taken.sdk).toFixed(0)}; the model takes ${modelMs / 1000} s`,
    },
  ]
}

async function reportOf(side: ChildProcess): Promise<Usage> {
  const gone = once(side, 'exit').then(() => {
    throw new Error('a side of the bench ended early')
  })
  const [usage] = (await Promise.race([once(side, 'message'), gone])) as [Usage]
  return usage
}

/** A model that needs almost no processor time, so that its callers' is measured. */
const model: Exclude<LanguageModel, string> = {
  specificationVersion: 'v4',
  provider: 'bench.chat',
  modelId: 'clerk',
  supportedUrls: {},
  async doGenerate() {
    await wait(modelMs)
    return {
      content: [{ type: 'text', text: letter }],
      finishReason: { unified: 'stop', raw: 'stop' },
      usage: {
        inputTokens: { total: 60, noCache: 60, cacheRead: undefined, cacheWrite: undefined },
        outputTokens: { total: 80, text: 80, reasoning: undefined },
      },
      warnings: [],
    }
  },
  doStream: () => Promise.reject(new Error('not streamed')),
}

/** One run on each side, with the same sequence of calls. */
function workOf(side: string, database: string): () => Promise<void> {
  const names = Array.from({ length: tasks }, (_, index) => `letter-${index}`)
  if (side === 'sdk') {
    return async () => {
      for (const name of names) {
        const instructions = 'You are Clerk.\nYour goal: Answer'
        const prompt = `Answer the letter ${name}`
        const { text } = await generateText({ model, instructions, prompt, maxRetries: 0 })
        if (text !== letter) throw new Error('another reply')
      }
    }
  }
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model })
  const crew = new Crew({
    name: 'letters',
    tasks: names.map((name) => new Task({ name, description: `Answer the letter ${name}`, agent, context: [] })),
    store: `sqlite:${database}`,
  })
  return async () => {
    const { status } = await crew.kickoff()
    if (status !== 'completed') throw new Error(`a run is ${status}`)
  }
}

async function spend(work: () => Promise<void>, runs: number): Promise<Usage> {
  const [cpu, start] = [process.cpuUsage(), performance.now()]
  await Promise.all(Array.from({ length: runs }, work))
  const { user, system } = process.cpuUsage(cpu)
  return { cpuMs: (user + system) / 1000, seconds: (performance.now() - start) / 1000 }
}

if (process.send) {
  const [side = '', database = ''] = process.argv.slice(2)
  const work = workOf(side, database)
  process.on('message', (runs) => void spend(work, runs as number).then((usage) => process.send?.(usage)))
}
