// What a person sees of a run, in order: tasks, texts, thoughts, tool calls, questions, sources and files. Both
// protocols are written from these.
import type { Answer, GeneratedFile, Source, ToolOutcome } from '../journal/entries.ts'
import type { Json } from '../journal/json.ts'
import type { PartOrigin, QuestionData, TaskData } from './message.ts'

export type Item = TaskItem | QuestionItem | SpokenItem | ToolItem | SourceItem | FileItem

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

/** A text or a thought. While it is being said it only grows; `done` when it is on record. */
export interface SpokenItem {
  readonly type: 'text' | 'reasoning'
  /** The path of the model call, and which of its texts it is. */
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
  /** What the model asked for. */
  readonly asked: Json
  /** What the tool is called with, where a person changed it. */
  input: Json
  /** The model's provider makes the call itself. */
  readonly provider: boolean
  approval?: Approval
  outcome?: ToolOutcome
}

/** Of a question whether a call may be made. */
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

/** Whether it is something that an agent said or did: such items belong to steps. */
export function isTalk({ type }: Item): boolean {
  return type !== 'task' && type !== 'question'
}

/** Whether it is a call that has not ended. The provider's own end within their replies. */
export function isOpenCall(item: Item): item is ToolItem {
  return item.type === 'tool' && item.outcome === undefined && !item.provider
}
