// Items: what a person sees of a run, in order. They are tasks, texts, reasoning, tool calls, questions, sources and
// files. The output in both protocols is made from them.
import type { Answer, GeneratedFile, Source, ToolOutcome, EntryOf, ReplyPart } from '../journal/entries.ts'
import type { Json } from '../journal/json.ts'
import type { PartOrigin, QuestionData, TaskData } from './message.ts'
import { callPath } from '../journal/paths.ts'

export type Item = TaskItem | QuestionItem | TextItem | ToolItem | SourceItem | FileItem

export interface TaskItem {
  readonly type: 'task'
  readonly key: string
  data: TaskData
}

export interface QuestionItem {
  readonly type: 'question'
  readonly key: string
  data: QuestionData
}

/** Text or reasoning. Grows while the model writes it. `done`: it is recorded. */
export interface TextItem {
  readonly type: 'text' | 'reasoning'
  /** The path of the model call, and an index among its texts. */
  readonly key: string
  readonly origin: PartOrigin
  text: string
  done: boolean
}

export interface ToolItem {
  readonly type: 'tool'
  /** The path of the call. */
  readonly key: string
  readonly origin: PartOrigin
  readonly tool: string
  /** The input that the model requested. */
  readonly asked: Json
  /** The input that the tool is called with: `asked`, unless a person changed it. */
  input: Json
  /** Whether the model's provider executes the call. */
  readonly provider: boolean
  approval?: Approval
  outcome?: ToolOutcome
}

/** The question whether the call may be made. */
export interface Approval {
  readonly id: string
  readonly text: string
  readonly answer?: Answer
}

export interface SourceItem {
  readonly type: 'source'
  readonly key: string
  readonly source: Source
}

export interface FileItem {
  readonly type: 'file'
  readonly key: string
  readonly file: GeneratedFile
}

/** Texts, calls, sources and files belong to steps. */
export function belongsToStep({ type }: Item): boolean {
  return type !== 'task' && type !== 'question'
}

/** Whether the item is a call that hasn't ended. Calls that the provider executes are never open. */
export function isOpenCall(item: Item): item is ToolItem {
  return item.type === 'tool' && item.outcome === undefined && !item.provider
}

/** One reply of a model as items. */
interface ReplyItems {
  readonly items: readonly Item[]
  /** Outcomes of calls that the provider executed, by key. The calls may be in earlier replies. */
  readonly outcomes: readonly (readonly [key: string, outcome: ToolOutcome])[]
}

/** Converts a reply to items. Reuses the streamed items if they equal it, so that no reader has to drop them. */
export function replyItems(
  { parts, seq }: EntryOf<'model.replied'>,
  origin: PartOrigin,
  streamed: readonly TextItem[],
): ReplyItems {
  const { path } = origin
  const items: Item[] = []
  // sources come after the answer
  const sources: Item[] = []
  const outcomes: [string, ToolOutcome][] = []
  let calls = 0
  let texts = 0
  // a provider's ids are unique only within a task
  const ownKey = (id: string): string => `${origin.task}:${id}`
  for (const part of parts) {
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        if (part.text === '') break
        const last = items.at(-1)
        if (last?.type === part.type) last.text += part.text
        else items.push({ type: part.type, key: `${path}:${texts++}`, origin, text: part.text, done: true })
        break
      }
      case 'call': {
        const key = callPath(path, calls++)
        const { tool, input } = part
        items.push({ type: 'tool', key, origin, tool, asked: input, input, provider: false })
        break
      }
      case 'provider-call': {
        const { tool, input } = part
        items.push({ type: 'tool', key: ownKey(part.id), origin, tool, asked: input, input, provider: true })
        break
      }
      case 'provider-result':
        outcomes.push([ownKey(part.id), providerOutcome(part)])
        break
      case 'source':
        sources.push({ type: 'source', key: `${seq}:${sources.length}`, source: part })
        break
      case 'file':
        items.push({ type: 'file', key: `${seq}:${items.length}`, file: part })
        break
      case 'custom':
        break
    }
  }
  return { items: [...keepStreamedItems(items, streamed), ...sources], outcomes }
}

/** Returns the streamed items in place of the recorded ones, if all are equal. */
function keepStreamedItems(items: readonly Item[], streamed: readonly TextItem[]): readonly Item[] {
  const recorded = items.filter((item): item is TextItem => item.type === 'text' || item.type === 'reasoning')
  const isEqual =
    recorded.length === streamed.length &&
    recorded.every(({ type, text }, index) => streamed[index]?.type === type && streamed[index]?.text === text)
  if (!isEqual) return items
  for (const item of streamed) item.done = true
  return items.map((item) => streamed[recorded.indexOf(item as TextItem)] ?? item)
}

function providerOutcome({ result, failed }: Extract<ReplyPart, { readonly type: 'provider-result' }>): ToolOutcome {
  return failed ? { error: typeof result === 'string' ? result : JSON.stringify(result) } : { result }
}
