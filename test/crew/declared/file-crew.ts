// A crew with files as inputs: its first task reads a claim, its second reads no file. Its model answers with the bytes
// that came with the message, so that a test knows what arrived. Run as a program, it resumes a run and prints what the
// model received.
import { Agent, Crew, Task } from 'reprise'
import { hashBytes } from '../../../src/journal/hash.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptedModel } from '../../../src/testing/scripted-model.ts'

type Prompt = Parameters<ScriptedModel['doGenerate']>[0]['prompt']

/** For each model call, the files that came with it: `name type hash`. */
export type Seen = string[][]

export function fileCrew(store: string | Store, options: object = {}, description = 'Read {claim}') {
  const seen: Seen = []
  const script = scriptedModel([
    { when: 'Task: Sum', reply: 'short' },
    { when: 'Task:', reply: (conversation) => `read ${/\[file [^\]]+\]/.exec(conversation)?.[0]}` },
  ])
  const model: ScriptedModel = {
    ...script,
    async doGenerate(request) {
      seen.push(partsOf(request.prompt))
      return script.doGenerate(request)
    },
  }
  const agent = new Agent({ role: 'Clerk', goal: 'Read', model })
  const text = description as 'Read {claim}'
  const read = new Task({ name: 'read', description: text, agent })
  const sum = new Task({ name: 'sum', description: 'Sum up', agent })
  const logger = { info() {}, warn() {} }
  const crew = new Crew({ name: 'files', tasks: [read, sum], store, logger, ...options })
  return { crew, seen, calls: script.calls }
}

function partsOf(prompt: Prompt): string[] {
  const parts = prompt.flatMap((message) => (message.role === 'user' ? message.content : []))
  return parts.flatMap((part) => {
    if (part.type !== 'file') return []
    const data = part.data.type === 'data' ? part.data.data : ''
    const bytes = typeof data === 'string' ? Buffer.from(data, 'base64') : data
    return [`${part.filename} ${part.mediaType} ${hashBytes(bytes)}`]
  })
}

if (import.meta.main) {
  const [url = '', run = ''] = process.argv.slice(2)
  const { crew, seen } = fileCrew(url)
  const result = await crew.resume(run)
  console.log(JSON.stringify({ status: result.status, raw: result.tasks[0].raw, seen }))
  await crew.close()
}
