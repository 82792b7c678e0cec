// What a person sees of a run, in order: tasks, texts, reasoning, tool calls, questions, sources and files. Both
// protocols are written from these.
import type { Answer, GeneratedFile, Source, ToolOutcome } from '../journal/entries.ts'
import type { Json } from '../journal/json.ts'
import type { PartOrigin, QuestionData, TaskData } from './message.ts'

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

/** Text or reasoning. While the model writes it, it only grows. `done`: it is recorded. */
export interface TextItem {
  readonly type: 'text' | 'reasoning'
  /** The path of the model call, and the index among its texts. */
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
  /** The input that the tool is called with, if a person changed it. */
  input: Json
  /** The model's provider executes the call itself. */
  readonly provider: boolean
  approval?: Approval
  outcome?: ToolOutcome
}

/** A question whether the call may be made. */
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

/** Whether it is a call that hasn't ended. Calls of the provider end within their replies. */
export function isOpenCall(item: Item): item is ToolItem {
  return item.type === 'tool' && item.outcome === undefined && !item.provider
}
