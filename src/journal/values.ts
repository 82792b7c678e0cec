// The values inside entries: what models, tools and people produce, and what is pinned, planned and stored. Part of the
// file format.
import type { Json } from './json.ts'

export type * from './questions.ts'

export type Priority = -1 | 0 | 1

/** The process that holds a run. Its start time tells it apart from a later process with the same pid. */
export interface Owner {
  readonly host: string
  /** The id of the machine's boot, or empty if the system has none. */
  readonly boot: string
  readonly pid: number
  /** When the process started, in the system's own format, or empty if the system has none. */
  readonly start: string
  /** Tells apart threads and copies of the library in one process. An engine may put its invocation here. */
  readonly instance: string
  /** Display name; not an identifier. */
  readonly label?: string
}

/** The dispatcher's call that had a process continue a run, for finding it there. */
export interface DispatchedBy {
  /** `restate` */
  readonly dispatcher: string
  /** The id of an invocation, a job, a message. */
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

/**
 * The parts of a reply, in order. `opaque` is what its provider needs to continue (signatures, item ids); nothing else
 * reads it.
 */
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

/** A source of the answer. It is never sent back. */
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

/** A file that a model made: its bytes, or its address at the provider. */
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
  /** The provider's id of the call. Needed to answer it, never used to find it. */
  readonly id: string
  readonly tool: string
  readonly input: Json
  readonly invalid?: string
  readonly opaque?: Json
}

/**
 * How a tool call ended. `unreadable`: it happened, but its result isn't JSON at that path. `sent` is what models
 * receive instead of the result.
 */
export type ToolOutcome =
  | { readonly result: Json; readonly sent?: SentResult }
  | { readonly error: string }
  | { readonly denied: string }
  | { readonly unreadable: string; readonly sent?: SentResult }

/** Text or JSON, as a result or an error; or several parts, such as text and a picture. */
export type SentResult =
  | { readonly type: 'value' | 'error'; readonly value: Json; readonly opaque?: Json }
  | { readonly type: 'denied'; readonly reason?: string; readonly opaque?: Json }
  | { readonly type: 'parts'; readonly parts: readonly SentPart[] }

export type SentPart =
  | { readonly type: 'text'; readonly text: string; readonly opaque?: Json }
  | SentFile
  | { readonly type: 'custom'; readonly opaque?: Json }

/** Its bytes, an address, a provider's reference to an uploaded file, or text. */
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
  /** Its usage, if the provider had reported it by then. */
  readonly usage?: Usage
}

/** A file in the inputs of a run. Its bytes are stored once per run under their hash. */
export interface StoredFile {
  readonly hash: string
  readonly name: string
  readonly mediaType: string
  /** The size. */
  readonly bytes: number
}

/** Refers to the text of an output of this run, which is stored once, where it was made. */
export interface OutputReference {
  /** The entry that has it: it completed the task, or offered the output. */
  readonly output: number
  /** The digest of the text, so that no other text is mistaken for it. */
  readonly digest: string
}

/** A text in pieces. Joined, they are the text that was sent, byte for byte. */
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
  /** A tool that the provider defines: it is sent instead of description and schema. */
  readonly provider?: ProviderTool
  /** Other settings that the AI SDK passes to providers. */
  readonly options?: ToolSendOptions
}

export interface ProviderTool {
  /** `openai.web_search` */
  readonly id: string
  /** Its settings, without credentials. */
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
  /** The stack in the user's code: one line per frame. */
  readonly stack?: string
}

/** A failed task that its run continued without. In a nested crew: `settle/payout`. */
export interface TaskFailure {
  readonly task: string
  readonly error: Failure
  /** The tasks that were skipped because of it. */
  readonly skipped: readonly string[]
}

/** A call that may have changed something. A new attempt or run must know it before it makes another. */
export interface OnceCall {
  readonly task: string
  readonly tool: string
  readonly key: string
  readonly occurrence: number
  readonly input: Json
  readonly calledAt: string
  readonly outcome: { readonly result: Json; readonly sent?: SentResult } | { readonly error: string } | 'unknown'
  /** It wasn't called: a person entered the result. */
  readonly given?: true
  /** Absent for a `once` call. */
  readonly effect?: 'idempotent'
  /** The idempotency key that the tool received. */
  readonly idempotencyKey?: string
  /** In a child run: an earlier child run of the same task made it, so `effects` doesn't apply. */
  readonly own?: true
}

/** Missing entries of a run that may have been about calls of a task. */
export interface LostEntries {
  readonly task: string
  readonly run: string
  readonly entries: readonly number[]
}

/** A task as the crew declared it when the run was made or resumed. */
export interface DeclaredTask {
  readonly name: string
  readonly id: string
  readonly description: string
  readonly expectedOutput?: string
  readonly agent?: string
}

/** How the tasks of a crew differ from those of its run. A name that is both removed and added starts fresh. */
export interface TaskListChanges {
  readonly added?: readonly string[]
  readonly removed?: readonly string[]
  /** New names by old names. */
  readonly renamed?: { readonly [task: string]: string }
}

/** Recorded work of a run without a task in its crew. */
export interface OrphanedTask {
  /** In nested crews, with the names of their tasks: `settle/payout`. */
  readonly task: string
  /** In words, what would be lost or repeated: `3 recorded steps`, `an open question`. */
  readonly holds: readonly string[]
  /** In words, if the crew has a task of that name that can't continue the work. */
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
  /** Time of work, without waiting for people. */
  readonly seconds?: number
}

/** What a new run does with a task, and why. */
export interface PlannedTask {
  readonly task: string
  /** edit: a person's value replaces its output. */
  readonly action: 'inherit' | 'execute' | 'edit'
  /** In words: "description changed". */
  readonly reasons: readonly string[]
  /** Fingerprint fields that differ from those of its stored output. */
  readonly fields?: readonly string[]
  /** The stored output is kept after all if these tasks return the same outputs again. */
  readonly unless?: readonly string[]
  /** The estimate for executing it. Absent: it was never completed before, or not all of its usage was counted. */
  readonly estimate?: Estimate
  /** Earlier executions kicked off runs that were not child runs. */
  readonly uncounted?: true
}

/** What an execution may take: the medians of earlier ones. */
export interface Estimate {
  readonly usage: Usage
  /** In dollars. Absent if the price of the model is unknown. */
  readonly cost?: number
  /** The number of earlier executions. */
  readonly samples: number
}

/** Digests by field of everything declared that a task's result depends on. */
export type Fingerprint = { readonly [field: string]: string }

/** The texts that a task had when its output was made, with the inputs that it was made from. */
export interface TaskTexts {
  readonly description: string
  readonly expectedOutput?: string
}

/** The output of a finished task, wherever it was made. `structured`: `raw` is JSON, before the schema's transforms. */
export interface StoredOutput {
  readonly raw: string
  readonly structured: boolean
  /** Nested crew: the task that made the output, if it isn't the last: `pay`, or `settle/pay`. */
  readonly within?: string
  readonly agent?: string
  readonly texts?: TaskTexts
  readonly usage: Usage
  readonly startedAt: string
  readonly completedAt: string
  readonly fingerprint?: Fingerprint
  /** Agents that had to answer in their last turn, with the number of turns: with more, they might have continued. */
  readonly limited?: { readonly [agent: string]: number }
  /** Kickoffs that were not child runs: their usage is not counted here. */
  readonly uncounted?: readonly string[]
  /** Nested crew: the failures that it continued without. */
  readonly failures?: readonly TaskFailure[]
}

/** The conversation that made an output in another run: the first message, and those after it. */
export interface Conversation {
  readonly first: PinnedText
  readonly files?: readonly StoredFile[]
  readonly rest: readonly ChatMessage[]
}

/** The run that a run was made from. */
export interface Parent {
  readonly run: string
  readonly incarnation: string
  /** The task to start from, if one was named. */
  readonly from?: string
  /** A digest of the request: the same request under the same id means the same run. */
  readonly request?: string
}

/** The run and entry that made an output. */
export interface OutputPlace {
  readonly run: string
  readonly incarnation: string
  readonly seq: number
}
