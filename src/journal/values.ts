// The values inside entries: what models, tools and people say, what is pinned, planned and stored. Part of the file
// format.
import type { Json } from './json.ts'

export type * from './questions.ts'

export type Priority = -1 | 0 | 1

/** Who holds a run: a process. Its start time tells it apart from a later process with the same pid. */
export interface Owner {
  readonly host: string
  /** The id of the machine's boot (empty where the system doesn't give one). */
  readonly boot: string
  readonly pid: number
  /** When the process started, in the system's own format (empty where the system doesn't say). */
  readonly start: string
  /** Tells other threads and copies of the library in the same process apart; an engine may put its invocation here. */
  readonly instance: string
  /** Display name; not an identifier. */
  readonly label?: string
}

/** What told a process to take a run up: which dispatcher, and what that calls the call. It leads people there. */
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
 * Tokens of one model call or of many. `input` includes `cacheRead` and `cacheWrite`, `output` includes `reasoning`.
 * Details that are absent were not reported.
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
 * What a model said, in order. `opaque` is what its provider needs to continue (signatures, item ids); nobody else
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
  /** What only its provider knows, such as the mark that it shortened the conversation itself. */
  | { readonly type: 'custom'; readonly kind: string; readonly opaque?: Json }

/** A call that the provider made itself while it produced the reply: nothing is left to do about it. */
export interface ProviderCall {
  readonly type: 'provider-call'
  readonly id: string
  readonly tool: string
  readonly input: Json
  readonly opaque?: Json
}

/** What came of a provider's own call, in the same reply or in a later one. */
export interface ProviderResult {
  readonly type: 'provider-result'
  readonly id: string
  readonly tool: string
  readonly result: Json
  readonly failed?: true
  readonly opaque?: Json
}

/** Something that an answer rests on. It is never sent back. */
export interface Source {
  readonly type: 'source'
  readonly id: string
  /** Of a page on the web. */
  readonly url?: string
  readonly title?: string
  /** Of a document. */
  readonly mediaType?: string
  readonly filename?: string
  readonly opaque?: Json
}

/** A file that a model made: its bytes, or where its provider keeps it. */
export type GeneratedFile = {
  readonly type: 'file'
  readonly mediaType: string
  /** It is part of the model's thoughts. */
  readonly thought?: true
  readonly opaque?: Json
} & ({ readonly base64: string } | { readonly url: string })

/** A tool call that a model asks for. `invalid` says why it cannot be made: an unknown tool, input that isn't JSON. */
export interface ToolRequest {
  readonly type: 'call'
  /** The provider's id of the call: needed to answer it, never used to find it. */
  readonly id: string
  readonly tool: string
  readonly input: Json
  readonly invalid?: string
  readonly opaque?: Json
}

/**
 * How a tool call ended. `unreadable`: it happened, and its result isn't JSON at the place named. `sent` is what models
 * are sent instead of the result.
 */
export type ToolOutcome =
  | { readonly result: Json; readonly sent?: SentResult }
  | { readonly error: string }
  | { readonly denied: string }
  | { readonly unreadable: string; readonly sent?: SentResult }

/** A text or JSON, as a result or as an error; or several parts, such as a text and a picture. */
export type SentResult =
  | { readonly type: 'value' | 'error'; readonly value: Json; readonly opaque?: Json }
  | { readonly type: 'denied'; readonly reason?: string; readonly opaque?: Json }
  | { readonly type: 'parts'; readonly parts: readonly SentPart[] }

export type SentPart =
  | { readonly type: 'text'; readonly text: string; readonly opaque?: Json }
  | SentFile
  | { readonly type: 'custom'; readonly opaque?: Json }

/** Its bytes, an address, what a provider calls a file that was uploaded to it, or a text. */
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
  /** What it took, where its provider had said so by then. */
  readonly usage?: Usage
}

/** A file that a run was given. Its bytes are stored once per run under their hash. */
export interface StoredFile {
  readonly hash: string
  readonly name: string
  readonly mediaType: string
  /** The size. */
  readonly bytes: number
}

/** Refers to the text of an output of this run, which is stored once, where it was made. */
export interface OutputReference {
  /** The entry that holds it: what completed the task, or offered the output. */
  readonly output: number
  /** Of the text, so that no other text is mistaken for it. */
  readonly digest: string
}

/** A text in pieces. Joined, they are what was sent, byte for byte. */
export type PinnedText = readonly (string | OutputReference)[]

/** What was said to a model and by it, in our own format. */
export type ChatMessage =
  | { readonly role: 'user'; readonly text: string; readonly files?: readonly StoredFile[] }
  | { readonly role: 'assistant'; readonly parts: readonly ReplyPart[] }
  | {
      readonly role: 'tool'
      readonly results: readonly { readonly id: string; readonly tool: string; readonly outcome: ToolOutcome }[]
    }

/** Everything in the first request of an attempt except the credentials. Stored once, by hash. */
export interface PinnedRequest {
  readonly instructions: string
  readonly message: PinnedText
  /** Those sent with the text of the message. */
  readonly files?: readonly StoredFile[]
  readonly tools: readonly ToolDefinition[]
  readonly model: string
  readonly settings: { readonly [key: string]: Json }
  /** The JSON Schema of the answer, when the task has one. */
  readonly output?: Json
}

export interface ToolDefinition {
  readonly name: string
  readonly description: string
  readonly schema: Json
  /** A tool that its provider defines: the model knows it by this, and not by description and schema. */
  readonly provider?: ProviderTool
  /** What the AI SDK passes on to providers besides. */
  readonly options?: ToolSendOptions
}

export interface ProviderTool {
  /** `openai.web_search` */
  readonly id: string
  /** How it is set up, without credentials. */
  readonly args: { readonly [name: string]: Json }
  /** The provider makes the calls itself, within a reply. */
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
  /** Where the user's own code threw: a line for each frame of it. */
  readonly stack?: string
}

/** A task that failed, and that its run continued without. Of a nested crew: `settle/payout`. */
export interface TaskFailure {
  readonly task: string
  readonly error: Failure
  /** The tasks that were skipped because of it. */
  readonly skipped: readonly string[]
}

/** A call that may have changed something. A new attempt or run must know of it before it makes another. */
export interface OnceCall {
  readonly task: string
  readonly tool: string
  readonly key: string
  readonly occurrence: number
  readonly input: Json
  readonly calledAt: string
  readonly outcome: { readonly result: Json; readonly sent?: SentResult } | { readonly error: string } | 'unknown'
  /** It was not called: a person gave the result. */
  readonly given?: true
  /** Where it is not a `once` call. */
  readonly effect?: 'idempotent'
  /** The idempotency key that the tool was given. */
  readonly idempotencyKey?: string
  /** Of a child run: an earlier child run of the same task made it, so it is not what `effects` is about. */
  readonly own?: true
}

/** Entries of a run that are missing and may have been about calls of a task. */
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

/** How the tasks of a crew differ from those that its run had. A name both removed and added starts anew. */
export interface TaskListChanges {
  readonly added?: readonly string[]
  readonly removed?: readonly string[]
  /** The new name by the old one. */
  readonly renamed?: { readonly [task: string]: string }
}

/** Recorded work of a run that its crew has no task for. */
export interface OrphanedTask {
  /** Within nested crews, with the names of their tasks before it: `settle/payout`. */
  readonly task: string
  /** In words, what would be lost or repeated: `3 recorded steps`, `an open question`. */
  readonly holds: readonly string[]
  /** In words, where the crew has a task of that name that cannot continue the work. */
  readonly because?: string
  /** The new task that it may have become. */
  readonly nearest?: string
}

/** The file that exports a crew. */
export interface CrewModule {
  /** Relative to the folder of the project, with `/` between folders: other machines have that folder elsewhere. */
  readonly file: string
  /** The name of the export, where the file exports several crews. */
  readonly export?: string
}

/** What a whole run may take. */
export interface Limit {
  readonly tokens?: number
  /** In dollars. */
  readonly cost?: number
  /** Of work, not of waiting for people. */
  readonly seconds?: number
}

/** What a new run does about a task, and why. */
export interface PlannedTask {
  readonly task: string
  /** edit: a person's value replaces its output. */
  readonly action: 'inherit' | 'execute' | 'edit'
  /** In words: "description changed". */
  readonly reasons: readonly string[]
  /** Fingerprint fields that differ from those that its stored output was made from. */
  readonly fields?: readonly string[]
  /** It keeps its stored output after all if these tasks give the same outputs that it was made from. */
  readonly unless?: readonly string[]
  /** Of executing it. Absent: unknown, since it was never completed before, or not all that it took was counted. */
  readonly estimate?: Estimate
  /** Earlier executions kicked off runs that were not child runs. */
  readonly uncounted?: true
}

/** What executing something may take: the medians of earlier times. */
export interface Estimate {
  readonly usage: Usage
  /** In dollars. Absent: the price of the model is not known. */
  readonly cost?: number
  /** How many earlier executions it is made from. */
  readonly samples: number
}

/** Digests by field of everything declared that a task's result depends on. */
export type Fingerprint = { readonly [field: string]: string }

/**
 * The output of a finished task, wherever it came from. `structured`: `raw` is the JSON before the schema's transforms.
 */
export interface StoredOutput {
  readonly raw: string
  readonly structured: boolean
  /** Nested crew: the task whose output it is, where that is not the last one: `pay`, or `settle/pay`. */
  readonly within?: string
  readonly agent?: string
  readonly usage: Usage
  readonly startedAt: string
  readonly completedAt: string
  readonly fingerprint?: Fingerprint
  /**
   * Agents that had to answer in their last turn, with how many turns they had: with more, they might have continued.
   */
  readonly limited?: { readonly [agent: string]: number }
  /** Kickoffs that were not child runs: their usage is not counted here. */
  readonly uncounted?: readonly string[]
}

/** What was said to make an output in another run: the first message, and those after it. */
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
  /** A digest of everything it was made with: the same call under the same id means the same run. */
  readonly request?: string
}

/** Where an output was made. */
export interface OutputPlace {
  readonly run: string
  readonly incarnation: string
  readonly seq: number
}
