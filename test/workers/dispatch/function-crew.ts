// The crew of functions that are killed: in each task a model calls a tool twice and then answers. The tool reads, and
// hangs the first time that it is called for something, so that the platform kills the function in the middle of it.
// Every call of a model is a line in a file.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'

export const callsPerTask = 3

export interface FunctionCrewOptions {
  readonly store: string
  /** The folder in which it counts calls and records where it hung. */
  readonly folder: string
  readonly tasks: number
  /** Called when the tool hangs. */
  readonly hangs?: () => void
}

export function functionCrew({ store, folder, tasks, hangs }: FunctionCrewOptions) {
  const look = tool({
    name: 'look',
    description: 'Look something up',
    effect: 'read',
    input: z.object({ what: z.string() }),
    async run({ what }) {
      const mark = join(folder, what)
      if (existsSync(mark)) return `seen ${what}`
      writeFileSync(mark, '')
      hangs?.()
      return new Promise<never>(() => undefined)
    },
  })
  const parts = Array.from({ length: tasks }, (_, index) => `part-${index}`)
  const script = scriptedModel(
    parts.flatMap((part) => {
      const when = new RegExp(`Read ${part}\\b`)
      const call = (what: string) => ({ when, calls: [{ tool: 'look', input: { what: `${part}-${what}` } }] })
      return [call('a'), call('b'), { when, reply: `Read ${part}` }]
    }),
  )
  const model = {
    ...script,
    doGenerate(request: Parameters<typeof script.doGenerate>[0]) {
      appendFileSync(join(folder, 'calls'), 'call\n')
      return script.doGenerate(request)
    },
  }
  const agent = new Agent({ role: 'Reader', goal: 'Read', model, tools: [look] })
  const list = parts.map((part) => new Task({ name: part, description: `Read ${part}`, context: [], agent }))
  return new Crew({ name: 'functions', store, tasks: list })
}
