// The file format: every type of entry that a journal can hold; the values inside them are in values.ts. It is ours
// alone: no library's types are on disk. Names are never changed once released; a new meaning gets a new name or a new
// version. Paths name places, never positions in the file: `note#2/3` is task, attempt, model turn; `note#2/3.0` its
// first tool call.
import type { Json } from './json.ts'
import type {
  Answer,
  Conversation,
  CrewModule,
  DeclaredTask,
  FailedTry,
  Failure,
  Fingerprint,
  Limit,
  LostEntries,
  OnceCall,
  OrphanedTask,
  OutputPlace,
  Owner,
  Parent,
  PlannedTask,
  Priority,
  Question,
  ReplyPart,
  StoredOutput,
  TaskListChanges,
  TaskFailure,
  ToolOutcome,
  Usage,
  DispatchedBy,
} from './values.ts'

export type * from './values.ts'

export const journalVersion = 4

export const runStatuses = ['queued', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const
export type RunStatus = (typeof runStatuses)[number]

/** The fields of each type of entry, besides the envelope. */
export interface EntryBodies {
  'run.created': {
    readonly run: string
    /**
     * Drawn at random: no other run has it, whatever its id, except a copy of this one. The incarnation of a child run
     * is derived from its parent's. What a service knows the run's calls by is derived from it, and so is lineage.
     */
    readonly incarnation: string
    readonly crew: string
    readonly version: string
    /** As they are used: after `beforeKickoff`. */
    readonly inputs: { readonly [name: string]: Json }
    /** As the caller gave them, where `beforeKickoff` changed them. */
    readonly given?: { readonly [name: string]: Json }
    readonly tasks: readonly DeclaredTask[]
    readonly owner: Owner
    readonly parent?: Parent
    readonly plan?: readonly PlannedTask[]
    /** Reuse outputs that any run of the crew made with the same fingerprint. */
    readonly reuse?: { readonly maxAgeSeconds?: number }
    /** The `once` calls that the parent made or inherited. */
    readonly calls?: readonly OnceCall[]
    /** Where the parent may have made others that are not recorded. */
    readonly lost?: readonly LostEntries[]
    /**
     * ask: before a result of such a call is used again. again: they are made again. never: only tools that read are
     * called, as in a backtest.
     */
    readonly effects?: 'ask' | 'again' | 'never'
    /** Of a trial of a backtest: how many the backtest was to have. */
    readonly trials?: number
    /** Nobody executes it yet: it waits for a worker. */
    readonly queued?: true
    /** Of a run that waits: not before this time, in ISO 8601. */
    readonly notBefore?: string
    /** Which of the runs that wait for a worker come first: 1 before 0 before -1. */
    readonly priority?: Priority
    /** The task after which it stops; other lives keep to it. */
    readonly through?: string
    /** Only of a run that the command line made: where it found the crew. */
    readonly module?: CrewModule
    readonly by?: string
  }
  'run.resumed': {
    readonly owner: Owner
    /** Where the process was told to, if it was. */
    readonly via?: DispatchedBy
    /** Of the crew's code, where it is not the one that the run had. */
    readonly version?: string
    /** The task after which it stops. */
    readonly through?: string
    readonly tasks?: readonly DeclaredTask[]
    /** How those tasks differ from the ones that the run had. */
    readonly changes?: TaskListChanges
    /**
     * A person's edit of the journal itself: entries that are missing or were changed, and the tasks that are executed
     * again.
     */
    readonly edited?: {
      readonly missing: readonly number[]
      readonly changed: readonly number[]
      readonly tasks: readonly string[]
    }
    /** Replaces the one that the run had. */
    readonly budget?: Limit
    readonly by?: string
  }
  'run.suspended': {
    /**
     * child: a run of one of its tasks waits. parent: the run that it works for has used up its budget. moved: it
     * continues in another store.
     */
    readonly reason:
      | 'questions'
      | 'through'
      | 'stopped'
      | 'takeovers'
      | 'limit'
      | 'child'
      | 'parent'
      | 'tasks-changed'
      | 'moved'
    readonly through?: string
    /** Where its tasks have changed: the recorded work that the crew has no task for. */
    readonly orphaned?: readonly OrphanedTask[]
    /** The attempts whose runs it waits for. */
    readonly children?: readonly string[]
    /** The store that it has moved to, without credentials. */
    readonly to?: string
    /** All of it is there. Without, a copy was cut off, and is to be repeated. */
    readonly arrived?: true
  }
  /** The time of the process was up between two steps, and the run waits for a worker. */
  'run.yielded': object
  /** A person has a worker continue it, which only a resume would. */
  'run.requeued': { readonly by?: string }
  /** It was copied from another store, where it may go on: nobody takes it up by itself. */
  'run.imported': object
  /** Something was recorded in a run that works for this one, which waited for it. */
  'run.woken': { readonly child: string }
  'run.completed': object
  /**
   * `retryAt`: when a worker tries again, in ISO 8601. `progress`: since it last failed, a run of one of its tasks has
   * completed a task.
   */
  'run.failed': { readonly error: Failure; readonly task?: string; readonly retryAt?: string; readonly progress?: true }
  'run.cancelled': { readonly by?: string; readonly reason?: string }
  /** An output of the parent that is inherited if, when the task's turn comes, it proves to be made from the same. */
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
    readonly condition?: Fingerprint
  }
  'task.started': {
    /** Absent for a task that is a function. */
    readonly request?: Json
    readonly fingerprint: Fingerprint
    /**
     * Digests by field of what the task's condition saw when it held. In the first attempt: later ones do not ask it
     * again.
     */
    readonly condition?: Fingerprint
    readonly agent?: string
    /** The task is a crew: the attempt is a run of its own, named after this run and the attempt's path. */
    readonly child?: true
    /** The task is a function: it is called with the inputs of the run, besides the outputs that it is given. */
    readonly code?: true
    /** The attempt whose conversation this one continues, and what is said to the model first. */
    readonly carries?: { readonly path: string; readonly message: string }
    /** Why an attempt was given up for this one: the fields that changed, an edit, a failure. */
    readonly because?: readonly string[]
  }
  /**
   * `raw` is left out when it is the text of the attempt's last reply, or in the journal of a run that a function
   * kicked off. Nested crew: `within` is the task whose output it is, where that is not its last; `failures` are those
   * that it continued without. Child runs: `spent` is what they spent, by model; `calls` are the calls that they made,
   * including those of attempts that were given up, but not those that they were told about.
   */
  'task.completed': {
    readonly raw?: string
    readonly structured: boolean
    readonly within?: string
    readonly spent?: { readonly [model: string]: Usage }
    readonly calls?: readonly OnceCall[]
    /** The same of its child runs: see `tool.returned`. */
    readonly uncounted?: readonly string[]
    readonly failures?: readonly TaskFailure[]
  }
  /** `final`: the run continues without the task (`onTaskFailure: 'continue'`), and no resume executes it again. */
  'task.failed': { readonly error: Failure; readonly final?: true }
  /**
   * `failed`: the failed tasks that its context needs, itself or through other skipped tasks. With the path of an
   * attempt: a nested crew whose tasks were all skipped, with `spent` and the others as above.
   */
  'task.skipped': {
    readonly reason: string
    readonly condition?: Fingerprint
    readonly failed?: readonly string[]
    readonly spent?: { readonly [model: string]: Usage }
    readonly calls?: readonly OnceCall[]
  }
  'task.edited': { readonly raw: string; readonly structured: boolean; readonly by?: string }
  'task.invalidated': { readonly by?: string; readonly reason?: string }
  /**
   * The callbacks for a task's completion, entry `of`, have returned and are not called again. Without a path: those
   * for all steps up to and including entry `of`.
   */
  'callback.returned': { readonly of: number }
  /**
   * The output of a task, completed by entry `of`, is in its file, below the working folder, and is not written again.
   */
  'file.written': { readonly of: number; readonly file: string; readonly bytes: number }
  'model.replied': {
    readonly startedAt: string
    readonly tries?: readonly FailedTry[]
    readonly parts: readonly ReplyPart[]
    readonly usage: Usage
    readonly finish: string
    /** The model as its provider named it, where that differs from the one asked for. */
    readonly model?: string
    /** It was the attempt's last turn, in which the model had no tools. */
    readonly last?: true
    /** The provider is not done: asked again with what it has said so far, it continues. */
    readonly paused?: true
  }
  'model.failed': { readonly startedAt: string; readonly tries: readonly FailedTry[]; readonly error: Failure }
  'tool.called': {
    readonly tool: string
    readonly effect: 'read' | 'idempotent' | 'once'
    readonly key: string
    /** The key that the tool was given for services to recognise the same call. */
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
     * Not from calling the tool: a recorded call of an earlier attempt or run, `settle`, a person's answer, a run with
     * `effects: 'never'`, or what an equal call of a tool with `cache` returned in this run.
     */
    readonly source?: 'recorded' | 'settled' | 'answered' | 'withheld' | 'cached'
    /** Where no `tool.called` says it. */
    readonly key?: string
    readonly by?: string
    /** Where the tool threw, in the user's own code. Not for the model. */
    readonly stack?: string
    /** Its kickoffs that are not child runs: their usage is not counted here. */
    readonly uncounted?: readonly string[]
  }
  /** `begun: false`: it was recorded and stopped before the tool started, so nothing happened. */
  'tool.abandoned': { readonly reason: string; readonly begun?: false }
  /** `raw` is the accepted answer as the guardrail changed it. `person`: a person asks for a better answer. */
  'guardrail.judged': {
    readonly guardrail: string
    readonly verdict: 'accepted' | 'refused'
    readonly reason?: string
    readonly raw?: string
    /** As of `tool.returned`. */
    readonly uncounted?: readonly string[]
  }
  /**
   * Of an attempt: from here on, the summary replaces its conversation up to and including the turn `through`, except
   * the first message.
   */
  'context.summarised': { readonly through: string; readonly summary: string }
  'question.asked': { readonly question: Question }
  'question.answered': { readonly question: string; readonly answer: Answer }
  /** A message that could not be used: it is taken out of the inbox anyway. */
  'message.refused': { readonly message: string; readonly reason: string }
}

export type EntryType = keyof EntryBodies

export interface Envelope {
  readonly v: number
  /** From 1, without gaps. */
  readonly seq: number
  /** ISO 8601. For people: it never orders anything. */
  readonly at: string
  /**
   * By how many ms the clock of the process was set ahead, or back, since it wrote the entry before: the times of the
   * two differ by so much more than the time between them.
   */
  readonly jump?: number
  readonly path?: string
  /** The token of the lease under which it was written. */
  readonly token: number
  /** The hash of the line before; empty in the first entry. Together they form a chain. */
  readonly prev: string
}

export type Entry = { [T in EntryType]: Envelope & { readonly type: T } & EntryBodies[T] }[EntryType]
export type EntryOf<T extends EntryType> = Extract<Entry, { type: T }>

/** What the engine hands to the journal writer, which adds the rest of the envelope. */
export type NewEntry = { [T in EntryType]: { readonly type: T; readonly path?: string } & EntryBodies[T] }[EntryType]
