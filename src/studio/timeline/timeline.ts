// A run over time, without what was said in it: lives, attempts and steps with their times, small enough for a run of
// many thousand steps. Plain data, free of Node: the server makes it from the journal, and the page adds the entries
// that come while it looks (add-entry.ts).
import type { Usage, DispatchedBy } from '../../journal/entries.ts'

export interface Timeline {
  readonly runId: string
  /** The last entry that is in it: events after this one are to be added. */
  readonly seq: number
  readonly createdAt: string | undefined
  readonly updatedAt: string | undefined
  /** One for each process that worked on the run, in order. What is between them is waiting. */
  readonly lives: readonly Life[]
  /** In the order in which they began; those within the step of another one too (`within`). */
  readonly attempts: readonly AttemptSpan[]
  /** Tasks that have an output, or none for good, without an attempt in this run. */
  readonly given: readonly UnexecutedTask[]
  readonly questions: readonly QuestionSpan[]
}

export interface Life {
  readonly from: string
  /** Undefined while it lasts, and of a process that was killed until another takes over. */
  readonly to: string | undefined
  /** How it ended: the process was gone when another resumed the run. */
  readonly end: 'completed' | 'suspended' | 'failed' | 'cancelled' | 'yielded' | 'gone' | undefined
  readonly holder: { readonly name: string | undefined; readonly pid: number; readonly host: string } | undefined
  readonly via: DispatchedBy | undefined
}

export interface AttemptSpan {
  /** `note#2`, or within a step `note#1/3.0/analyst#1`. */
  readonly path: string
  readonly task: string
  /** The step that it belongs to: a delegation, a judge, a summary. */
  readonly within: string | undefined
  readonly agent: string | undefined
  /** That is asked; undefined of functions and crews. */
  readonly model: string | undefined
  readonly from: string
  readonly to: string | undefined
  /** refused: the next one continues its conversation. void: given up, and the next one begins anew. */
  readonly status: 'open' | 'completed' | 'refused' | 'failed' | 'void'
  /** Of a task that is a crew: the run that this attempt is. */
  readonly child: string | undefined
  /** Why it was begun, where another was given up for it; or why it was refused or failed. */
  readonly because: readonly string[]
  readonly steps: readonly StepSpan[]
}

export interface StepSpan {
  /** `note#1/2` is a turn of the model, `note#1/2.0` a call that it asked for. */
  readonly path: string
  /** The entry that records it, or its beginning. */
  readonly seq: number
  readonly kind: 'model' | 'tool'
  /** Of the tool; of the model as its provider named it, where that differs from the one asked for. */
  readonly name: string | undefined
  readonly from: string
  /** Undefined while it lasts, and of a call of which nobody recorded how it ended. */
  readonly to: string | undefined
  readonly status: 'open' | 'done' | 'failed' | 'denied'
  /** Not from calling the tool: recorded, settled, answered, withheld, cached. */
  readonly source: string | undefined
  readonly usage: Usage | undefined
  /** Failed tries: before the reply, or all of a failed call. */
  readonly tries: number
  /** The beginning of what was said, or which tools are called, or what went wrong. */
  readonly words: string
}

export interface UnexecutedTask {
  readonly task: string
  readonly as: 'inherited' | 'edited' | 'skipped'
  readonly at: string
  /** The run that an inherited output was made in. */
  readonly from: string | undefined
  readonly by: string | undefined
}

export interface QuestionSpan {
  readonly id: string
  readonly path: string
  readonly kind: 'result' | 'call' | 'doubt' | 'limit'
  readonly from: string
  readonly to: string | undefined
  readonly decision: string | undefined
  readonly by: string | undefined
}
