// Shared by the tests of kickoffs within functions: a book whose chapters are each written by a crew.
import { Agent, Crew, Task, tool, type CodeContext, type CodeTaskOptions, type CrewOptions } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { newStore } from '../../engine/support.ts'

export interface Scene {
  readonly store?: Store
  /** The store of the crew that writes a chapter. */
  readonly chapterStore?: Store
  readonly script?: readonly ScriptEntry[]
  readonly humanInput?: boolean
  readonly effect?: CodeTaskOptions['effect']
  readonly maxSeconds?: number
  /** The name of the function. */
  readonly name?: string
  readonly more?: Partial<CrewOptions>
  readonly chapters?: readonly string[]
  /** What the function does with the crew; left out, kickoffForEach with ids made from that of the run. */
  readonly run?: (scene: { readonly chapter: Crew; readonly context: CodeContext }) => unknown
}

const usage = { input: 100, output: 10 }

/** chapters (a function that kicks off draft → polish for each) → note. */
export function book({ store = newStore(), chapterStore, script = [], run, more = {}, ...scene }: Scene = {}) {
  const { humanInput = false, effect = 'idempotent', chapters = ['one', 'two', 'three', 'four'] } = scene
  const filed: string[] = []
  const receipts = new Set<string>()
  const warnings: string[] = []
  const logger = { info() {}, warn: (message: string) => void warnings.push(message) }
  const file = tool({
    name: 'file',
    description: 'File',
    input: z.object({ chapter: z.string() }),
    run: ({ chapter }, { idempotencyKey }) => {
      receipts.add(idempotencyKey)
      return `filed ${filed.push(chapter)}`
    },
    settle: (key) => (receipts.has(key) ? { happened: true, result: 'filed' } : { happened: false }),
  })
  const nameIn = (text: string): string => /Draft (\w+)/.exec(text)?.[1] ?? ''
  const model = scriptedModel([
    ...script,
    ...chapters.map((chapter) => ({
      when: `Task: Draft ${chapter}`,
      calls: [{ tool: 'file', input: { chapter } }],
      usage,
    })),
    { when: 'Task: Draft', reply: (text) => `draft of ${nameIn(text)}`, usage },
    { when: 'Task: Polish', reply: (text) => `polished ${/draft of \w+/.exec(text)?.[0]}`, usage },
    { when: 'Task: Note', reply: 'the note', usage },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const draft = new Task({ name: 'draft', description: 'Draft {chapter}', agent, tools: [file], humanInput })
  const polish = new Task({ name: 'polish', description: 'Polish', agent })
  const chapter = new Crew({
    name: 'chapter',
    tasks: [draft, polish],
    logger,
    ...(chapterStore ? { store: chapterStore } : {}),
  })
  const forEach = async ({ runId }: CodeContext): Promise<string[]> => {
    const list = chapters.map((name) => ({ chapter: name }))
    const results = await chapter.kickoffForEach(list, { id: (_, at) => `${runId}-${chapters[at]}` })
    return results.map(String)
  }
  let calls = 0
  const write = new Task({
    name: scene.name ?? 'chapters',
    effect,
    ...(scene.maxSeconds === undefined ? {} : { maxSeconds: scene.maxSeconds }),
    run: (context) => {
      calls += 1
      return run ? run({ chapter: chapter, context }) : forEach(context)
    },
  })
  const note = new Task({ name: 'note', description: 'Note', agent })
  const crew = new Crew({ name: 'book', tasks: [write, note], store, logger, ...more })
  /** How often a model was asked for this task of this chapter. */
  const asked = (text: string): number => model.calls.filter(({ conversation }) => conversation.includes(text)).length
  return { crew, chapter, model, store, filed, warnings, asked, called: () => calls }
}
