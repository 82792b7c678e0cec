// Crews for benches of whole runs: one task on a scripted model that answers on command, one task that calls a tool
// repeatedly, and many independent tasks.
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel, type ScriptedModel } from 'reprise/testing'
import { z } from 'zod'

export interface Gate {
  /** Number of waiting calls. */
  waiting: number
  readonly open: Promise<void>
}

export function benchCrew(store: string, gate?: Gate): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model: patientModel(() => pass(gate)) })
  return new Crew({
    name: 'bench',
    tasks: [new Task({ name: 'answer', description: 'Answer the letter', agent })],
    store,
  })
}

/** An agent that reads this many pages, one per turn, and then answers. */
export function toolCrew(store: string, turns: number): Crew {
  const pages = Array.from({ length: turns }, (_, page) => page)
  const input = z.object({ page: z.number() })
  const look = tool({ name: 'look', description: 'Look at a page', input, effect: 'read', run: () => 'nothing' })
  const script = pages.map((page) => ({ when: 'file', after: page, calls: [{ tool: 'look', input: { page } }] }))
  const model = scriptedModel([...script, { when: 'file', reply: 'The file is complete.' }])
  const agent = new Agent({ role: 'Clerk', goal: 'Read', model, tools: [look], maxIterations: turns + 1 })
  return new Crew({ name: 'turns', tasks: [new Task({ name: 'read', description: 'Read the file', agent })], store })
}

export function functionCrew(store: string, tasks: number, run: () => unknown = () => 1): Crew {
  const names = Array.from({ length: tasks }, (_, index) => `step-${index}`)
  return new Crew({
    name: 'functions',
    tasks: names.map((name) => new Task({ name, effect: 'read', context: [], run })),
    store,
  })
}

/** A crew of one agent, with one model call per task. */
export function modelCrew(store: string, tasks: number, called: () => unknown): Crew {
  const model = patientModel(async () => void called())
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model })
  const names = Array.from({ length: tasks }, (_, index) => `letter-${index}`)
  return new Crew({
    name: 'letters',
    tasks: names.map((name) => new Task({ name, description: 'Answer the letter', agent, context: [] })),
    store,
  })
}

export async function complete(crew: Crew): Promise<void> {
  const { status } = await crew.kickoff()
  if (status !== 'completed') throw new Error(`a run of ${crew.name} is ${status}`)
}

async function pass(gate: Gate | undefined): Promise<void> {
  if (!gate) return
  gate.waiting += 1
  await gate.open
  gate.waiting -= 1
}

/** A script per call, since a scripted model keeps its requests. */
function patientModel(before: () => Promise<void>): ScriptedModel {
  const script = [{ when: 'letter', reply: 'Dear customer, your claim is covered. '.repeat(10) }]
  const model = scriptedModel(script)
  return {
    ...model,
    async doGenerate(request) {
      await before()
      return scriptedModel(script).doGenerate(request)
    },
  }
}
