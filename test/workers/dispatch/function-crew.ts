// The crew of functions that are killed: in each task, a model calls a `read` tool twice and then answers. The tool
// hangs on its first call with each input, so that the platform kills the function during the call. Every model call
// appends a line to a file.
import { appendFileSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'

export const callsPerTask = 3

export interface FunctionCrewOptions {
  readonly store: string
  /** The folder for the file of model calls, and for a mark per input of the tool. */
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
