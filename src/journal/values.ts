// The values inside entries: of models, tools and people, pinned, planned or stored. Part of the file format.
import type { Json } from './json.ts'

export type * from './questions.ts'

export type Priority = -1 | 0 | 1

/** The process that holds a run. Its start time distinguishes it from a later process with the same pid. */
export interface Owner {
  readonly host: string
  /** The id of the machine's boot, or empty if the system has none. */
  readonly boot: string
  readonly pid: number
  /** When the process started, in the system's own format, or empty if the system has none. */
  readonly start: string
  /** Random: distinguishes threads and copies of the library within one process. */
  readonly instance: string
  /** Display name; not an identifier. */
  readonly label?: string
}

/** The dispatcher's call that made a process continue a run, to look it up at the dispatcher. */
export interface DispatchedBy {
  /** `restate` */
  readonly dispatcher: string
  /** The id of the invocation, job or message. */
  readonly id: string
}

/** A value stored next to the journal, once per run, under the hash of its bytes. */
export interface Blob {
  readonly hash: string
  readonly bytes: Uint8Array
}

/**
 * Tokens of one or many model calls. `input` includes `cacheRead` and `cacheWrite`, `output` includes `reasoning`.
 * Absent details were not reported.
 */
export interface Usage {
  readonly calls: number
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
  readonly reasoning?: number
}

/** The parts of a reply, in order. Only its provider reads `opaque`, to continue: signatures, item ids. */
export type ReplyPart =
  | { readonly type: 'text'; readonly text: string; readonly opaque?: Json }
  | { readonly type: 'reasoning'; readonly text: string; readonly opaque?: Json }
  | ToolRequest
  | ProviderCall
  | ProviderResult
  | Source
  | GeneratedFile
  /** Provider-specific, such as a mark that the provider shortened the conversation itself. */
  | { readonly type: 'custom'; readonly kind: string; readonly opaque?: Json }

/** A tool call that the provider executed itself while it produced the reply. */
export interface ProviderCall {
  readonly type: 'provider-call'
  readonly id: string
  readonly tool: string
  readonly input: Json
  readonly opaque?: Json
}

/** The result of a provider's own call, in the same reply or a later one. */
export interface ProviderResult {
  readonly type: 'provider-result'
  readonly id: string
  readonly tool: string
  readonly result: Json
  readonly failed?: true
  readonly opaque?: Json
}

/** A source of the answer. Never sent back to the provider. */
export interface Source {
  readonly type: 'source'
  readonly id: string
  /** For a web page. */
  readonly url?: string
  readonly title?: string
  /** For a document. */
  readonly mediaType?: string
  readonly filename?: string
  readonly opaque?: Json
}

/** A file that a model generated: its bytes, or its URL at the provider. */
export type GeneratedFile = {
  readonly type: 'file'
  readonly mediaType: string
  /** It is part of the model's reasoning. */
  readonly thought?: true
  readonly opaque?: Json
} & ({ readonly base64: string } | { readonly url: string })

/** A tool call that a model requests. `invalid` is why it can't be made: an unknown tool, input that isn't JSON. */
export interface ToolRequest {
  readonly type: 'call'
  /** The provider's id of the call. Sent back with the result, but never used to find the call. */
  readonly id: string
  readonly tool: string
  readonly input: Json
  readonly invalid?: string
  readonly opaque?: Json
}

/**
 * How a tool call ended. `unreadable`: the call happened, but its result isn't JSON at that path. `sent`: what models
 * receive instead of the result.
 */
export type ToolOutcome =
  | { readonly result: Json; readonly sent?: SentResult }
  | { readonly error: string }
  | { readonly denied: string }
  | { readonly unreadable: string; readonly sent?: SentResult }

/** Text or JSON, as a result or an error; or several parts, such as text and an image. */
export type SentResult =
  | { readonly type: 'value' | 'error'; readonly value: Json; readonly opaque?: Json }
  | { readonly type: 'denied'; readonly reason?: string; readonly opaque?: Json }
  | { readonly type: 'parts'; readonly parts: readonly SentPart[] }

export type SentPart =
  | { readonly type: 'text'; readonly text: string; readonly opaque?: Json }
  | SentFile
  | { readonly type: 'custom'; readonly opaque?: Json }

/** A file as its bytes, its URL, a provider's reference to an upload, or text. */
export type SentFile = {
  readonly type: 'file'
  readonly mediaType: string
  readonly name?: string
  readonly opaque?: Json
} & (
  | { readonly base64: string }
  | { readonly url: string }
  | { readonly reference: { readonly [provider: string]: string } }
  | { readonly text: string }
)

export interface FailedTry {
  readonly at: string
  readonly error: string
  /** The usage of the try, if the provider had reported it by then. */
  readonly usage?: Usage
}

/** A file in the inputs of a run. Its bytes are stored once per run under their hash. */
export interface StoredFile {
  readonly hash: string
  readonly name: string
  readonly mediaType: string
  readonly bytes: number
}

/** Refers to the text of an output of this run, which is stored once, where it was made. */
export interface OutputReference {
  /** The entry that has the output: it completed the task, or offered the output. */
  readonly output: number
  /** The digest of the text, so that no other text is mistaken for it. */
  readonly digest: string
}

/** Text in pieces. Joined, they are the text that was sent, byte for byte. */
export type PinnedText = readonly (string | OutputReference)[]

/** A message of a conversation, in our own format. */
export type ChatMessage =
  | { readonly role: 'user'; readonly text: string; readonly files?: readonly StoredFile[] }
  | { readonly role: 'assistant'; readonly parts: readonly ReplyPart[] }
  | {
      readonly role: 'tool'
      readonly results: readonly { readonly id: string; readonly tool: string; readonly outcome: ToolOutcome }[]
    }

/** Everything in the first request of an attempt except credentials. Stored once, by hash. */
export interface PinnedRequest {
  readonly instructions: string
  /** Messages before the first one, from an earlier run or from the parent of a fork. */
  readonly history?: readonly ChatMessage[]
  readonly message: PinnedText
  /** Files that are sent with the message. */
  readonly files?: readonly StoredFile[]
  readonly tools: readonly ToolDefinition[]
  readonly model: string
  readonly settings: { readonly [key: string]: Json }
  /** The JSON Schema of the answer, if the task has one. */
  readonly output?: Json
}

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly schema: Json
  /** For a tool that the provider defines: sent instead of description and schema. */
  readonly provider?: ProviderTool
  /** Other settings that the AI SDK passes to providers. */
  readonly options?: ToolSendOptions
}

export interface ProviderTool {
  /** `openai.web_search` */
  readonly id: string
  /** The tool's settings, without credentials. */
  readonly args: { readonly [name: string]: Json }
  /** The provider executes the calls itself, within a reply. */
  readonly executed?: true
  /** The result of such a call may come in a later reply. */
  readonly deferred?: true
}

export interface ToolSendOptions {
  readonly strict?: boolean
  readonly inputExamples?: Json
  readonly providerOptions?: Json
}

export interface Failure {
  readonly code: string
  readonly message: string
  /** The stack within the user's code, one line per frame. */
  readonly stack?: string
  /** The name of the error that user code threw, if it isn't `Error`. */
  readonly name?: string
  /** Further members of that error, as JSON. */
  readonly data?: { readonly [name: string]: Json }
}

/** A failed task that its run continued without. A task of a nested crew is named `settle/payout`. */
export interface TaskFailure {
  readonly task: string
  readonly error: Failure
  /** The tasks that were skipped because of it. */
  readonly skipped: readonly string[]
}

/** A call that may have changed something. A new attempt or run must know it before making another. */
export interface OnceCall {
  readonly task: string
  readonly tool: string
  readonly key: string
  readonly occurrence: number
  readonly input: Json
  readonly calledAt: string
  readonly outcome: { readonly result: Json; readonly sent?: SentResult } | { readonly error: string } | 'unknown'
  /** The tool wasn't called: a person entered the result. */
  readonly given?: true
  /** Absent for a `once` call. */
  readonly effect?: 'idempotent'
  readonly idempotencyKey?: string
  /** In a child run: made by an earlier child run of the same task, so `effects` doesn't apply. */
  readonly own?: true
}

/** Missing entries of a run that may have recorded calls of a task. */
export interface LostEntries {
  readonly task: string
  readonly run: string
  readonly entries: readonly number[]
}

/** A task as the crew declared it when the run was created or resumed. */
export interface DeclaredTask {
  readonly name: string
  readonly id: string
  readonly description: string
  readonly expectedOutput?: string
  readonly agent?: string
}

/** An item of the list of a task with `forEach`. */
export type ListedItem = { readonly key: string; readonly item: Json }

/** How the tasks of a crew differ from those of its run. A name that is both removed and added starts fresh. */
export interface TaskListChanges {
  readonly added?: readonly string[]
  readonly removed?: readonly string[]
  /** New names by old names. */
  readonly renamed?: { readonly [task: string]: string }
}

/** Work that a run has recorded, and for which its crew has no task. */
export interface OrphanedTask {
  /** A task of a nested crew is named `settle/payout`. */
  readonly task: string
  /** What would be lost or repeated, in words: `3 recorded steps`, `an open question`. */
  readonly holds: readonly string[]
  /** Why the crew's task of that name, if it has one, can't continue the work; in words. */
  readonly because?: string
  /** The new task that it may have become. */
  readonly nearest?: string
}

/** The file that exports a crew. */
export interface CrewModule {
  /** Relative to the project's folder, with `/`: other machines have that folder elsewhere. */
  readonly file: string
  /** The name of the export, if the file exports several crews. */
  readonly export?: string
}

/** The budget of a whole run. */
export interface Limit {
  readonly tokens?: number
  /** In dollars. */
  readonly cost?: number
  /** The time that processes work on the run, without the time that it waits for people. */
  readonly seconds?: number
  /** Flows: the number of steps that the run begins. Default: 10,000. */
  readonly steps?: number
}

/** What a new run does with a task, and why. */
export interface PlannedTask {
  readonly task: string
  /** edit: a person's value replaces its output. */
  readonly action: 'inherit' | 'execute' | 'edit'
  /** In words: `description changed`. */
  readonly reasons: readonly string[]
  /** The fingerprint fields that differ from those of the stored output. */
  readonly fields?: readonly string[]
  /** The stored output is inherited after all if these tasks return the same outputs again. */
  readonly unless?: readonly string[]
  /** Absent if the task was never completed before, or not all of its usage was counted. */
  readonly estimate?: Estimate
  /** Earlier executions kicked off runs that were not child runs. */
  readonly uncounted?: true
}

/** What an execution will probably use and cost: the medians of earlier executions. */
export interface Estimate {
  readonly usage: Usage
  /** In dollars. Absent if the price of the model is unknown. */
  readonly cost?: number
  readonly samples: number
}

/** Digests, by field, of everything declared that a task's result depends on. */
export type Fingerprint = { readonly [field: string]: string }

/** The texts of a task when its output was made, with the run's inputs in place of the placeholders. */
export interface TaskTexts {
  readonly description: string
  readonly expectedOutput?: string
}

/** The output of a finished task, from whichever run. `structured`: `raw` is JSON, before the schema's transforms. */
export interface StoredOutput {
  readonly raw: string
  readonly structured: boolean
  /** Nested crew: the task that made the output, if it isn't the last: `pay`, or `settle/pay`. */
  readonly within?: string
  readonly agent?: string
  /** Who sent the event that a step of a flow received. */
  readonly by?: string
  readonly texts?: TaskTexts
  readonly usage: Usage
  readonly startedAt: string
  readonly completedAt: string
  readonly fingerprint?: Fingerprint
  /** The agents that reached their limit of turns and had to answer, with their number of turns. */
  readonly limited?: { readonly [agent: string]: number }
  /** Runs that were kicked off, but not as child runs: their usage is not counted here. */
  readonly uncounted?: readonly string[]
  /** Nested crew: the failed tasks that it continued without. */
  readonly failures?: readonly TaskFailure[]
}

/** The conversation that made an output in another run: the first message, and the rest. */
export interface Conversation {
  readonly first: PinnedText
  readonly files?: readonly StoredFile[]
  readonly rest: readonly ChatMessage[]
}

/** The run that a run was forked from. */
export interface Parent {
  readonly run: string
  readonly incarnation: string
  /** The task to execute again first, if one was named. */
  readonly from?: string
  /** A digest of the fork's options: a fork with the same options and the same id is the same run. */
  readonly request?: string
}

/** The run and entry that made an output. */
export interface OutputPlace {
  readonly run: string
  readonly incarnation: string
  readonly seq: number
}
