// A crew in a process of its own: executes an order and prints the outcome. Its second task calls a `once` tool that
// leaves a line in a file. At the task or tool of `hold`, it notifies the test and waits.
import { appendFileSync } from 'node:fs'
import { Agent, Crew, RepriseError, Task, tool, type Answer } from 'reprise'
import { z } from 'zod'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

type Name = 'gather' | 'file' | 'weigh' | 'note'

export interface Order {
  /** follow: a kickoff that says so to the test as soon as it has the run, by holding. */
  readonly act: 'kickoff' | 'follow' | 'each' | 'resume' | 'replay' | 'fork' | 'refresh' | 'answer'
  readonly crew?: string
  /** The task to replay, by name or id. */
  readonly task?: string
  /** The run to resume. */
  readonly run?: string
  readonly options?: object
  readonly answer?: Answer
  /** What tasks say; else their names. */
  readonly words?: { readonly [K in Name]?: string }
  /** Appended to the usual descriptions. */
  readonly texts?: { readonly [K in Name]?: string }
  /** The task at which the model fails. */
  readonly fail?: Name
  /** The task whose model call, or the tool whose call, waits until the test releases it. */
  readonly hold?: Name | 'tool'
}

export interface Report {
  readonly runId?: string
  readonly status?: string
  readonly raw?: string
  /** By task: how it came by its output, and that. */
  readonly tasks?: { readonly [name: string]: string }
  readonly ids?: { readonly [name: string]: string }
  readonly stale?: readonly string[]
  readonly questions?: readonly string[]
  /** The tasks that the model was asked about in this process, in order. */
  readonly asked: readonly string[]
  readonly code?: string
  readonly task?: string
  readonly message?: string
  readonly runs?: readonly string[]
}

/** What to do, and where. */
export interface Commission {
  readonly url: string
  readonly ledger: string
  readonly order: Order
}

if (import.meta.main) {
  process.on('message', (given: Commission | 'go on') => {
    if (given !== 'go on') void carryOut(given).then((made) => process.send?.(made))
  })
}

async function carryOut({ url, ledger, order }: Commission): Promise<Report> {
  const asked: string[] = []
  await using crew = crewOf(url, ledger, order, asked)
  const options = (order.options ?? {}) as never
  try {
    switch (order.act) {
      case 'each':
        return { asked, runs: (await crew.kickoffForEach(options)).map((result) => result.runId ?? '') }
      case 'answer':
        await crew.run(order.run ?? '').answer('q1', order.answer as Answer)
        return { asked }
      case 'kickoff':
        return report(crew, asked, await crew.kickoff(options))
      case 'follow': {
        const call = crew.kickoff(options)
        await call.started
        await heldBack()
        return report(crew, asked, await call)
      }
      case 'resume':
        return report(crew, asked, await crew.resume(order.run, options))
      case 'replay':
        return report(crew, asked, await crew.replay(order.task ?? '', options))
      case 'fork':
        return report(crew, asked, await crew.fork(options))
      case 'refresh':
        return report(crew, asked, await crew.refresh(options))
    }
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    const { code, message, runId, task } = error
    return { code, message, asked, ...(runId === undefined ? {} : { runId }), ...(task === undefined ? {} : { task }) }
  }
}

function crewOf(url: string, ledger: string, { crew = 'alpha', words, texts, fail, hold }: Order, asked: string[]) {
  const taskIn = (conversation: string): Name => (/Task: (\w+)/.exec(conversation)?.[1] ?? '').toLowerCase() as Name
  const script = scriptedModel([
    { when: (conversation) => taskIn(conversation) === fail, error: 'no power' },
    { when: 'Task: File', calls: [{ tool: 'file_claim', input: { claim: 'C-1' } }] },
    { when: 'Task:', reply: (conversation) => `${crew} ${words?.[taskIn(conversation)] ?? taskIn(conversation)}` },
  ])
  const model: typeof script = {
    ...script,
    async doGenerate(request) {
      const task = taskIn(JSON.stringify(request.prompt))
      asked.push(task)
      if (hold === task) await heldBack()
      return script.doGenerate(request)
    },
  }
  const fileClaim = tool({
    name: 'file_claim',
    description: 'File the claim',
    input: z.object({ claim: z.string() }),
    async run({ claim }) {
      appendFileSync(ledger, `${crew} ${claim}\n`)
      if (hold === 'tool') await heldBack()
      return `filed ${claim}`
    },
  })
  const agent = new Agent({ role: 'Clerk', goal: 'Get claims done', model, maxRetries: 0 })
  const gather = new Task({ name: 'gather', description: `Gather on {topic}${texts?.gather ?? ''}`, agent })
  const file = new Task({ name: 'file', description: `File it${texts?.file ?? ''}`, agent, tools: [fileClaim] })
  const weigh = new Task({ name: 'weigh', description: `Weigh it${texts?.weigh ?? ''}`, agent })
  const note = new Task({ name: 'note', description: `Note for {reader}${texts?.note ?? ''}`, agent })
  const logger = { info() {}, warn() {} }
  return new Crew({ name: crew, tasks: [gather, file, weigh, note], store: url, logger })
}

type Crewed = ReturnType<typeof crewOf>

function report(crew: Crewed, asked: string[], result: Awaited<ReturnType<Crewed['kickoff']>>): Report {
  const { runId, status, raw, stale, questions } = result
  return {
    runId,
    status,
    raw,
    tasks: Object.fromEntries(result.tasks.map((task) => [task.name, `${task.status}: ${task.raw}`])),
    ids: Object.fromEntries(crew.tasks.map((task) => [task.name, task.id])),
    stale: stale.map(({ task, reasons }) => `${task}: ${reasons.join('; ')}`),
    questions: questions.map((question) => question.kind),
    asked,
  }
}

/** Tells the test, and waits for its word; for ever, when the test kills this process instead. */
async function heldBack(): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  process.once('message', () => resolve())
  process.send?.('held')
  await promise
}
