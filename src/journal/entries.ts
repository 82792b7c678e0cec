// The file format: every type of entry that a journal can hold, and the values inside them. It is ours alone: no library's
// types are on disk. Names are never changed once released; a new meaning gets a new name or a new version.
// Paths name places, never positions in the file: `note#2/3` is task, attempt, model turn; `note#2/3.0` its first tool call.
import type { Json } from './json.ts'

export const journalVersion = 1

export const runStatuses = ['queued', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const
export type RunStatus = (typeof runStatuses)[number]

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
export type Message =
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
}

/** What was said to make an output in another run: the first message, and the others behind it. */
export interface Conversation {
  readonly first: PinnedText
  readonly files?: readonly StoredFile[]
  readonly rest: readonly Message[]
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

/** The fields of each type of entry beside the envelope. */
export interface EntryBodies {
  'run.created': {
    readonly run: string
    readonly crew: string
    readonly version: string
    /** As they are used: after `beforeKickoff`. */
    readonly inputs: { readonly [name: string]: Json }
    /** Those that the caller gave, where `beforeKickoff` made others of them. */
    readonly given?: { readonly [name: string]: Json }
    readonly tasks: readonly DeclaredTask[]
    readonly owner: Owner
    readonly parent?: Parent
    readonly plan?: readonly PlannedTask[]
    /**
     * The attempt of another run that this run is the work of. `after` is the hash of the line before that attempt began: it tells the
     * run that made this one from any other that has, or had, the same id.
     */
    readonly caller?: { readonly path: string; readonly after: string }
    /** Take outputs of any run of the crew that were made from the same. */
    readonly reuse?: { readonly maxAgeSeconds?: number }
    /** The `once` calls that the parent made or inherited. */
    readonly calls?: readonly OnceCall[]
    /**
     * ask: before a result of such a call is used again. again: they are made anew. never: nothing but reading is done to the world, as in
     * a backtest.
     */
    readonly effects?: 'ask' | 'again' | 'never'
    readonly by?: string
  }
  'run.resumed': {
    readonly owner: Owner
    readonly tasks?: readonly DeclaredTask[]
    /** A person's edit of the journal itself: entries that are missing or were changed, and the tasks that are executed again. */
    readonly edited?: {
      readonly missing: readonly number[]
      readonly changed: readonly number[]
      readonly tasks: readonly string[]
    }
    /** In place of the one that the run had. */
    readonly budget?: Limit
    readonly by?: string
  }
  'run.suspended': {
    /** child: a run of one of its tasks waits. parent: the run that it works for has used up its budget. */
    readonly reason: 'questions' | 'through' | 'stopped' | 'takeovers' | 'limit' | 'child' | 'parent'
    readonly through?: string
    /** The attempts whose runs it waits for. */
    readonly children?: readonly string[]
  }
  'run.completed': object
  'run.failed': { readonly error: Failure; readonly task?: string }
  'run.cancelled': { readonly by?: string; readonly reason?: string }
  /** An output of the parent that is inherited if it turns out, when the task's turn comes, to be made from the same. */
  'task.offered': {
    readonly from: OutputPlace
    readonly output: StoredOutput
    readonly conversation?: Conversation
  }
  /** `output` and `conversation` are left out when they are those that were offered. */
  'task.inherited': {
    readonly from: OutputPlace
    readonly output?: StoredOutput
    readonly conversation?: Conversation
    readonly reasons?: readonly string[]
    readonly stale?: readonly string[]
  }
  'task.started': {
    /** Absent for a task that is a function. */
    readonly request?: Json
    readonly fingerprint: Fingerprint
    readonly agent?: string
    /** The task is a crew: the attempt is a run of its own, named after this run and the attempt's path. */
    readonly child?: true
    /** The task is a function: it is called with the inputs of the run, beside the outputs that it is given. */
    readonly code?: true
    /** The attempt whose conversation this one carries on, and what is said to the model first. */
    readonly carries?: { readonly path: string; readonly message: string }
    /** Why an attempt was given up for this one: the fields that changed, an edit, a failure. */
    readonly because?: readonly string[]
  }
  /**
   * `raw` is left out when it is the text of the attempt's last reply. Of a task that is a crew: what its run spent, by model, and the calls
   * that it made, with those of attempts that were given up for it. Calls that the run was told of are not among them.
   */
  'task.completed': {
    readonly raw?: string
    readonly structured: boolean
    readonly spent?: { readonly [model: string]: Usage }
    readonly calls?: readonly OnceCall[]
  }
  'task.failed': { readonly error: Failure }
  'task.skipped': { readonly reason: string }
  'task.edited': { readonly raw: string; readonly structured: boolean; readonly by?: string }
  'task.invalidated': { readonly by?: string; readonly reason?: string }
  /**
   * The callbacks for a task's completion, entry `of`, have returned and are not called again. Without a path: those for all steps up to and
   * including entry `of`.
   */
  'callback.returned': { readonly of: number }
  /** The output of a task, completed by entry `of`, is in its file, below the working folder, and is not written again. */
  'file.written': { readonly of: number; readonly file: string; readonly bytes: number }
  'model.replied': {
    readonly startedAt: string
    readonly tries?: readonly FailedTry[]
    readonly parts: readonly ReplyPart[]
    readonly usage: Usage
    readonly finish: string
    /** The model as its provider named it, where that differs from the one asked for. */
    readonly model?: string
  }
  'model.failed': { readonly startedAt: string; readonly tries: readonly FailedTry[]; readonly error: Failure }
  'tool.called': {
    readonly tool: string
    readonly effect: 'read' | 'idempotent' | 'once'
    readonly key: string
    /** What the tool was given to tell services that it is the same call. */
    readonly idempotencyKey: string
    /** Only where it is not what the model asked for. */
    readonly input?: Json
    /** The question whose answer allows this call. */
    readonly allowedBy?: string
    /** Of a tool whose results are kept for the run: equal for equal calls. */
    readonly cacheKey?: string
  }
  'tool.returned': {
    readonly outcome: ToolOutcome
    /**
     * Not from calling the tool: a recorded call of an earlier attempt or run, `settle`, a person's answer, a run that does nothing, or
     * what an equal call of a tool with `cache` returned in this run.
     */
    readonly source?: 'recorded' | 'settled' | 'answered' | 'withheld' | 'cached'
    /** Where no `tool.called` says it. */
    readonly key?: string
    readonly by?: string
  }
  /** `begun: false`: it was written down and stopped before the tool was started, so nothing happened. */
  'tool.abandoned': { readonly reason: string; readonly begun?: false }
  /** `raw` is what a guardrail made of the answer that it accepted. `person`: a person's wish for a better answer. */
  'guardrail.judged': {
    readonly guardrail: string
    readonly verdict: 'accepted' | 'refused'
    readonly reason?: string
    readonly raw?: string
  }
  /** Of an attempt: from here on, the summary stands in for its conversation up to and including the turn `through`, but for the first message. */
  'context.summarised': { readonly through: string; readonly summary: string }
  'question.asked': { readonly question: Question }
  'question.answered': { readonly question: string; readonly answer: Answer }
  /** A message that could not be used: it is taken out of the inbox all the same. */
  'message.refused': { readonly message: string; readonly reason: string }
}

export type EntryType = keyof EntryBodies

export interface Envelope {
  readonly v: number
  /** From 1, without gaps. */
  readonly seq: number
  /** ISO 8601. For people: it never orders anything. */
  readonly at: string
  readonly path?: string
  /** The token of the lease under which it was written. */
  readonly token: number
  /** The hash of the line before: a chain from the first entry on, which has an empty one. */
  readonly prev: string
}

export type Entry = { [T in EntryType]: Envelope & { readonly type: T } & EntryBodies[T] }[EntryType]
export type EntryOf<T extends EntryType> = Extract<Entry, { type: T }>

/** What the engine hands to the journal writer, which adds the rest of the envelope. */
export type NewEntry = { [T in EntryType]: { readonly type: T; readonly path?: string } & EntryBodies[T] }[EntryType]
