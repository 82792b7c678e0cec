// The values inside of entries: what models, tools and people say, what is pinned, planned and stored. Part of the file format.
import type { Json } from './json.ts'

/** Who holds a run: a process, told apart from a later one with the same pid by its start. */
export interface Owner {
  readonly host: string
  /** The boot of the machine (empty where the system does not tell). */
  readonly boot: string
  readonly pid: number
  /** When the process started, in the system's own words (empty where it does not tell). */
  readonly start: string
  /** Told apart from other threads and copies of the library in the same process; an engine may put its invocation here. */
  readonly instance: string
}

/** A value stored beside the journal, once per run, by the hash of its bytes. */
export interface Blob {
  readonly hash: string
  readonly bytes: Uint8Array
}

/**
 * Tokens of one model call or of many. `input` holds those of `cacheRead` and `cacheWrite` too, `output` those of `reasoning`.
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

/** What a model said, in its order. `opaque` is what its provider needs to go on (signatures, item ids); nobody else reads it. */
export type ReplyPart =
  | { readonly type: 'text'; readonly text: string; readonly opaque?: Json }
  | { readonly type: 'reasoning'; readonly text: string; readonly opaque?: Json }
  | ToolRequest

/** A tool call that a model asks for. `invalid` says why it cannot be made: an unknown tool, input that is no JSON. */
export interface ToolRequest {
  readonly type: 'call'
  /** The provider's id of the call: needed to answer it, never used to find it. */
  readonly id: string
  readonly tool: string
  readonly input: Json
  readonly invalid?: string
  readonly opaque?: Json
}

/** How a tool call ended. `unreadable`: it happened, and its result is not JSON at that place. */
export type ToolOutcome =
  | { readonly result: Json }
  | { readonly error: string }
  | { readonly denied: string }
  | { readonly unreadable: string }

export interface FailedTry {
  readonly at: string
  readonly error: string
}

/** A file that a run was given. Its bytes are stored once per run under their hash. */
export interface StoredFile {
  readonly hash: string
  readonly name: string
  readonly mediaType: string
  /** How many. */
  readonly bytes: number
}

/** The text of an output of this run, which is stored once, where it was made. */
export interface OutputReference {
  /** The entry that holds it: what completed the task, or offered the output. */
  readonly output: number
  /** Of the text, so that no other is taken for it. */
  readonly digest: string
}

/** A text, piece by piece. Put together, it is what was sent, byte for byte. */
export type PinnedText = readonly (string | OutputReference)[]

/** What was said to a model and by it, in our own words. */
export type ChatMessage =
  | { readonly role: 'user'; readonly text: string; readonly files?: readonly StoredFile[] }
  | { readonly role: 'assistant'; readonly parts: readonly ReplyPart[] }
  | {
      readonly role: 'tool'
      readonly results: readonly { readonly id: string; readonly tool: string; readonly outcome: ToolOutcome }[]
    }

/** Everything that the first request of an attempt is made of, except the credentials. Stored once by hash. */
export interface PinnedRequest {
  readonly instructions: string
  readonly message: PinnedText
  /** Those that the message carries beside its text. */
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
}

export interface Failure {
  readonly code: string
  readonly message: string
}

/** A call that may have changed something: what a new attempt or a new run must know before it makes another. */
export interface OnceCall {
  readonly task: string
  readonly tool: string
  readonly key: string
  readonly occurrence: number
  readonly input: Json
  readonly calledAt: string
  readonly outcome: { readonly result: Json } | { readonly error: string } | 'unknown'
  /** It was not called: a person gave the result. */
  readonly given?: true
  /** What the tool was given to tell services that it is the same call. */
  readonly idempotencyKey?: string
}

/** Entries of a run that are missing and may have been about calls of a task. */
export interface LostEntries {
  readonly task: string
  readonly run: string
  readonly entries: readonly number[]
}

export type Question = { readonly id: string; readonly path: string; readonly text: string } & (
  | { readonly kind: 'result'; readonly output: Json; readonly round: number }
  | {
      readonly kind: 'call'
      readonly tool: string
      readonly input: Json
      readonly key: string
      readonly earlier: readonly OnceCall[]
    }
  | {
      readonly kind: 'doubt'
      readonly tool: string
      readonly input: Json
      readonly key: string
      readonly calledAt: string
      readonly owner: Owner
    }
  | { readonly kind: 'limit'; readonly limit: Json; readonly spent: Usage }
)

type Signed = { readonly by?: string; readonly note?: string }
export type Fail = { readonly decision: 'fail'; readonly reason: string }
export interface Answers {
  result: (
    | { decision: 'approve' }
    | { decision: 'revise'; feedback: string }
    | { decision: 'replace'; output: Json }
    | Fail
  ) &
    Signed
  call: (
    | { decision: 'approve'; input?: Json }
    | { decision: 'deny'; reason: string }
    | { decision: 'use'; result: Json }
    | Fail
  ) &
    Signed
  doubt: ({ decision: 'run' } | { decision: 'happened'; result: Json } | Fail) & Signed
  limit: ({ decision: 'raise'; to: Json } | Fail) & Signed
}
export type Answer = Answers[keyof Answers]

/** A task as the crew declared it when the run was made or resumed. */
export interface DeclaredTask {
  readonly name: string
  readonly id: string
  readonly description: string
  readonly expectedOutput?: string
  readonly agent?: string
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
  /** edit: a person's value stands in for its output. */
  readonly action: 'inherit' | 'execute' | 'edit'
  /** In words: "description changed". */
  readonly reasons: readonly string[]
  /** Fingerprint fields that differ from those that its stored output was made from. */
  readonly fields?: readonly string[]
  /** It keeps its stored output after all when these tasks give the outputs that it was made from. */
  readonly unless?: readonly string[]
  /** Of executing it. Absent: unknown, since it was never completed before. */
  readonly estimate?: Estimate
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

/** What a finished task left behind, wherever it came from. `structured`: `raw` is the JSON before the schema's transforms. */
export interface StoredOutput {
  readonly raw: string
  readonly structured: boolean
  readonly agent?: string
  readonly usage: Usage
  readonly startedAt: string
  readonly completedAt: string
  readonly fingerprint?: Fingerprint
  /** Agents that had to answer in their last turn, with how many turns they had: with more, they might have gone on. */
  readonly limited?: { readonly [agent: string]: number }
}

/** What was said to make an output in another run: the first message, and the others behind it. */
export interface Conversation {
  readonly first: PinnedText
  readonly files?: readonly StoredFile[]
  readonly rest: readonly ChatMessage[]
}

/** The run that a run was made from. */
export interface Parent {
  readonly run: string
  /** The task that it was to start from, if one was named. */
  readonly from?: string
  /** A digest of all that it was made with: the same call under the same id means the same run. */
  readonly request?: string
}

/** Where an output was made. */
export interface OutputPlace {
  readonly run: string
  readonly seq: number
}
