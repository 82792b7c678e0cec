// The file format: all types of entries; the values inside them are in values.ts. Nothing on disk depends on a
// library's types. The format is frozen (docs/decisions/0032-frozen-format.md): types and fields are added, but none is
// renamed or removed, and a new meaning gets a new name. A path names a place in the run, never a position in the
// file: `note#2/3` is the third model turn of the second attempt at the task note, and `note#2/3.0` the first tool call
// of that turn.
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
  ListedItem,
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

export const journalVersion = 5

export const runStatuses = ['queued', 'running', 'suspended', 'completed', 'failed', 'cancelled'] as const
export type RunStatus = (typeof runStatuses)[number]

/** The fields of each type of entry, besides the envelope. */
export interface EntryBodies {
  'run.created': {
    readonly run: string
    /**
     * Random, and the same in all copies of the run, whatever their ids. A child run's incarnation is derived from its
     * parent's. Lineage and the idempotency keys of calls depend on it.
     */
    readonly incarnation: string
    readonly crew: string
    readonly version: string
    /** As `beforeKickoff` returned them. */
    readonly inputs: { readonly [name: string]: Json }
    /** As passed to the kickoff, if `beforeKickoff` changed them. */
    readonly given?: { readonly [name: string]: Json }
    readonly tasks: readonly DeclaredTask[]
    readonly owner: Owner
    readonly parent?: Parent
    readonly plan?: readonly PlannedTask[]
    /** Reuse outputs that any run of the crew made with the same fingerprint. */
    readonly reuse?: { readonly maxAgeSeconds?: number }
    /** The calls that may have changed something, made or inherited by the parent. */
    readonly calls?: readonly OnceCall[]
    /** Missing entries of the parent that may have recorded further calls. */
    readonly lost?: readonly LostEntries[]
    /**
     * How a call that is in `calls` is treated if it comes up again. ask: a person decides whether to use its result.
     * again: it is made again. never: only `read` tools are called, as in a backtest.
     */
    readonly effects?: 'ask' | 'again' | 'never'
    /** For a trial of a backtest: the number of trials planned. */
    readonly trials?: number
    /** The run waits for a worker. */
    readonly queued?: true
    /** The earliest start of a queued run, in ISO 8601. */
    readonly notBefore?: string
    /** The order of queued runs: 1 before 0 before -1. */
    readonly priority?: Priority
    /** The task to stop after. Resumes by workers keep it. */
    readonly through?: string
    /** Where the command line found the crew that made the run. */
    readonly module?: CrewModule
    /** The crew is a flow: its tasks are the steps that its function requests, and none is declared. */
    readonly flow?: true
    /** Flows: `random` and `uuid` are derived from it. Default: the incarnation. */
    readonly seed?: string
    /** Flows: the run that ended with `again`, which this run continues. */
    readonly previous?: string
    /** Flows: the run is one of a conversation, whose turns are its steps `message` and `answer`. */
    readonly chat?: true
    readonly by?: string
  }
  'run.resumed': {
    readonly owner: Owner
    /** The dispatcher's call that resumed the run. */
    readonly via?: DispatchedBy
    /** The version of the crew's code, if it differs from that of the run. */
    readonly version?: string
    /** The task to stop after. */
    readonly through?: string
    readonly tasks?: readonly DeclaredTask[]
    /** How the tasks differ from those of the run. */
    readonly changes?: TaskListChanges
    /** A hand edit of the journal: missing and changed entries, and the tasks that are executed again. */
    readonly edited?: {
      readonly missing: readonly number[]
      readonly changed: readonly number[]
      readonly tasks: readonly string[]
    }
    /** Replaces the budget of the run. */
    readonly budget?: Limit
    /** Flows: the failed steps to execute again. All other failures are thrown again from the record. */
    readonly retry?: readonly string[]
    readonly by?: string
  }
  'run.suspended': {
    /**
     * child: a child run is suspended. parent: the parent's budget is used up. moved: it continues in another store.
     * sleeping, events: a flow sleeps, or waits for events.
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
      | 'sleeping'
      | 'events'
    /** The run continues at this time, in ISO 8601, whether or not what it waits for has arrived. */
    readonly until?: string
    readonly through?: string
    /** For `tasks-changed`: recorded work without a task. */
    readonly orphaned?: readonly OrphanedTask[]
    /** For `child`: the attempts whose child runs it waits for. */
    readonly children?: readonly string[]
    /** For `moved`: the other store, without credentials. */
    readonly to?: string
    /** The copy is complete. Absent: it was cut off, and has to be repeated. */
    readonly arrived?: true
  }
  /** The run was handed back to the queue between two steps, since the time of the process was up. */
  'run.yielded': object
  /** A person handed the run to the workers, which would otherwise leave it to a resume. */
  'run.requeued': { readonly by?: string }
  /** The run was copied from another store, where it may still continue: workers leave this copy alone by default. */
  'run.imported': object
  /** Something that this run waited for was recorded in a child run. */
  'run.woken': { readonly child: string }
  /**
   * Flows: `value` is what the function returned; absent for undefined. `left`: recorded steps that the function no
   * longer requested. `next`: the run that continues this one.
   */
  'run.completed': { readonly value?: Json; readonly left?: readonly string[]; readonly next?: string }
  /**
   * `retryAt`: when a worker tries again, in ISO 8601. `progress`: a child run has completed a task since the last
   * failure. `steps`: the failed steps of a flow that a resume executes again.
   */
  'run.failed': {
    readonly error: Failure
    readonly task?: string
    readonly retryAt?: string
    readonly progress?: true
    readonly steps?: readonly string[]
  }
  'run.cancelled': { readonly by?: string; readonly reason?: string }
  /** An output of the parent, which is inherited if the fingerprints are equal when the task's turn comes. */
  'task.offered': {
    readonly from: OutputPlace
    readonly output: StoredOutput
    readonly conversation?: Conversation
  }
  /** `output` and `conversation` are absent if they were offered. */
  'task.inherited': {
    readonly from: OutputPlace
    readonly output?: StoredOutput
    readonly conversation?: Conversation
    readonly reasons?: readonly string[]
    readonly stale?: readonly string[]
    readonly condition?: Fingerprint
    /** See `task.started`. */
    readonly items?: readonly ListedItem[]
    /** Flows: see `task.started`. */
    readonly after?: number
    /** Flows: the failure that the step ended with, instead of an output, and the fingerprint of that attempt. */
    readonly error?: Failure
    readonly fingerprint?: Fingerprint
    /** Flows: see `task.completed`. */
    readonly timedOut?: true
  }
  'task.started': {
    /** Absent for function tasks. */
    readonly request?: Json
    readonly fingerprint: Fingerprint
    /**
     * Digests, by field, of what the task's condition read. Only in the first attempt: later ones don't evaluate it.
     */
    readonly condition?: Fingerprint
    readonly agent?: string
    /** The attempt is a child run, named after this run and the attempt's path. */
    readonly child?: true
    /** A function task: it receives the inputs of the run, besides the outputs of its context. */
    readonly code?: true
    /** This entry also starts the call of the function: no `tool.called` follows. */
    readonly call?: {
      readonly effect: 'read' | 'idempotent' | 'once'
      readonly key: string
      readonly idempotencyKey: string
    }
    /** The attempt whose conversation this one continues, and the message that continues it. */
    readonly carries?: { readonly path: string; readonly message: string }
    /** Why the previous attempt was given up: changed fields, an edit, a failure. */
    readonly because?: readonly string[]
    /** A task with `forEach`: its list, in order. Each item is executed as a task of its own, `chapter[c7]`. */
    readonly items?: readonly ListedItem[]
    /** Flows: the entry that settled the last step whose result the function had when it requested this one, or 0. */
    readonly after?: number
    /** Flows: the declared input of the step. */
    readonly input?: Json
    /** Flows: what the step waits for. Absent for a step that executes something. */
    readonly wait?: 'sleep' | 'question' | 'event'
    /** Flows: when the wait ends, in ISO 8601. */
    readonly until?: string
  }
  /**
   * `raw` is absent if it is recorded elsewhere: as the text of the attempt's last reply or, for a kickoff by a
   * function, in the journal of the child run. For a nested crew, `within` is the task that made the output, if it
   * isn't the last, and `failures` are the failed tasks that it continued without. For child runs, `spent` is their
   * usage by model, and `calls` are the calls that they made themselves and that may have changed something, also in
   * attempts that were given up.
   */
  'task.completed': {
    readonly raw?: string
    readonly structured: boolean
    readonly within?: string
    readonly spent?: { readonly [model: string]: Usage }
    readonly calls?: readonly OnceCall[]
    /** The function returned `raw`, which no `tool.returned` records. */
    readonly returned?: true
    /** See `tool.returned`. For a nested crew: those of its child runs. */
    readonly uncounted?: readonly string[]
    readonly failures?: readonly TaskFailure[]
    /** The step of a flow received the event that this entry recorded: `raw` is absent. */
    readonly event?: number
    /** The step of a flow waited until its time was up: its value is undefined. */
    readonly timedOut?: true
  }
  /**
   * `final`: the run continues without the task (`onTaskFailure: 'continue'`), and no resume executes it again.
   * `retryAt`: when the step of a flow is tried again, in ISO 8601; its function does not learn of this failure.
   */
  'task.failed': { readonly error: Failure; readonly final?: true; readonly retryAt?: string }
  /** The step of a flow has another name in today's code, which declares the old one (`was`). */
  'task.renamed': { readonly to: string }
  /**
   * `failed`: the failed tasks that its context needs, directly or through other skipped tasks. If the path is that of
   * an attempt, all tasks of a nested crew were skipped; `spent` and `calls` are as in `task.completed`.
   */
  'task.skipped': {
    readonly reason: string
    readonly condition?: Fingerprint
    readonly failed?: readonly string[]
    readonly spent?: { readonly [model: string]: Usage }
    readonly calls?: readonly OnceCall[]
  }
  'task.edited': { readonly raw: string; readonly structured: boolean; readonly by?: string }
  /** `because`: what has changed since the output of the item, or of the flow's step, was made, in words. */
  'task.invalidated': { readonly by?: string; readonly reason?: string; readonly because?: readonly string[] }
  /**
   * The callbacks of a task for its completion at entry `of` have returned and aren't called again. Without a path: the
   * step callbacks for all entries up to and including `of`.
   */
  'callback.returned': { readonly of: number }
  /** The output that entry `of` recorded was written to `file`, below the working folder, and isn't written again. */
  'file.written': { readonly of: number; readonly file: string; readonly bytes: number }
  'model.replied': {
    readonly startedAt: string
    readonly tries?: readonly FailedTry[]
    readonly parts: readonly ReplyPart[]
    readonly usage: Usage
    readonly finish: string
    /** The model's name according to the provider, if it differs from the requested name. */
    readonly model?: string
    /** The attempt's last turn, in which the model had no tools. */
    readonly last?: true
    /** The provider has paused: it continues when the reply so far is sent back. */
    readonly paused?: true
  }
  'model.failed': { readonly startedAt: string; readonly tries: readonly FailedTry[]; readonly error: Failure }
  'tool.called': {
    readonly tool: string
    readonly effect: 'read' | 'idempotent' | 'once'
    readonly key: string
    /** The key that the tool received, by which services recognize a repeated call. */
    readonly idempotencyKey: string
    /** Absent if it is the input in the model's reply. */
    readonly input?: Json
    /** The question whose answer allows this call. */
    readonly allowedBy?: string
    /** For tools with `cache`: equal for equal calls. */
    readonly cacheKey?: string
  }
  'tool.returned': {
    readonly outcome: ToolOutcome
    /**
     * Where the outcome came from if the tool wasn't called: recorded in an earlier attempt or run, settled by
     * `settle`, answered by a person, withheld by `effects: 'never'`, or cached from an equal call in this run.
     */
    readonly source?: 'recorded' | 'settled' | 'answered' | 'withheld' | 'cached'
    /** The call's key, if there is no `tool.called`. */
    readonly key?: string
    readonly by?: string
    /** The stack in the user's code if the tool threw. Not for the model. */
    readonly stack?: string
    /** The name and members of the error, if a function task or a step of a flow threw one. */
    readonly thrown?: Pick<Failure, 'name' | 'data'>
    /** Runs that the tool kicked off, but not as child runs: their usage is not counted here. */
    readonly uncounted?: readonly string[]
  }
  /** `begun: false`: the call was stopped before the tool started, so nothing happened. */
  'tool.abandoned': { readonly reason: string; readonly begun?: false }
  /** `raw` is the accepted answer if the guardrail changed it. Guardrail `person`: a person asked for a revision. */
  'guardrail.judged': {
    readonly guardrail: string
    readonly verdict: 'accepted' | 'refused'
    readonly reason?: string
    readonly raw?: string
    /** See `tool.returned`. */
    readonly uncounted?: readonly string[]
  }
  /**
   * From here on, the summary replaces the attempt's conversation up to and including the turn `through`, except the
   * first message.
   */
  'context.summarised': { readonly through: string; readonly summary: string }
  /** An event that was sent to a flow. */
  'event.received': { readonly name: string; readonly value: Json; readonly id?: string; readonly by?: string }
  'question.asked': { readonly question: Question }
  'question.answered': { readonly question: string; readonly answer: Answer }
  /** A message that had no effect, such as the answer to a withdrawn question. It was removed from the inbox. */
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
   * By how many ms the clock of the process was set ahead (negative: back) since the previous entry. Subtract it from
   * the difference between the times of the two entries.
   */
  readonly jump?: number
  readonly path?: string
  /** The token of the lease under which it was written. */
  readonly token: number
  /** The hash of the previous line; empty in the first entry. The hashes form a chain. */
  readonly prev: string
}

export type Entry = { [T in EntryType]: Envelope & { readonly type: T } & EntryBodies[T] }[EntryType]
export type EntryOf<T extends EntryType> = Extract<Entry, { type: T }>

/** An entry before the journal writer adds the rest of the envelope. */
export type NewEntry = { [T in EntryType]: { readonly type: T; readonly path?: string } & EntryBodies[T] }[EntryType]
