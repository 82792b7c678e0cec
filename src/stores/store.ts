// The port between the engine and the storage of journals. A store knows nothing of agents or models: it keeps the
// exact bytes of journals in order and lets one holder at a time write them. Every store promises:
// - when `append` or `create` resolves, the whole batch is on disk; when it rejects with any code but OUTCOME_UNKNOWN,
//   nothing of the batch was written;
// - checking the lease's token and writing are one step: a holder that lost its lease cannot write;
// - a batch's lines, listing row, output keys, blobs and taken messages change together;
// - lines are returned byte for byte;
// - `claim` offers every run that can advance, whichever process was killed at whatever moment (rules/ready.ts).
//
// A root run and its descendants form a run tree, and the lease of the root covers the whole tree.
//
// All errors are RepriseErrors, and the codes named below are part of the contract. In addition, every call rejects
// with STORE_UNAVAILABLE while the store cannot be reached (nothing was written), and a write rejects with
// OUTCOME_UNKNOWN when its reply was lost.

import type { Blob, Owner, Priority, RunStatus } from '../journal/entries.ts'

export type { Blob, Owner, Priority, RunStatus }

/** Any string. An id that ends like `/settle#1` names a child run, and its first part the parent (`parentRunId`). */
export type RunId = string

/** The right to append to a run tree. `token` grows with every new holder; the store refuses all but the newest. */
export interface Lease {
  /** The root. */
  readonly run: RunId
  readonly token: number
  /**
   * Unique to this acquisition. Stores check it together with the token, since a store that was restored from a backup
   * may issue a token twice.
   */
  readonly id: string
  /** The holder, for messages only: stores don't check it. */
  readonly owner: Owner
}

/** A stored journal entry. `seq` counts from 1. The store doesn't interpret the bytes. */
export interface Line {
  readonly seq: number
  readonly bytes: Uint8Array
  /** SHA-256 of `bytes`, if already known: saves the store from computing it. */
  readonly hash?: string
}

/** A store's note on the last entry of a run, kept apart from the lines. */
export interface LastEntryNote {
  readonly seq: number
  /** Hash of the entry's bytes, equal to `prev` of the next entry. Undefined if unknown. */
  readonly hash?: string
}

/** What a listing shows of a run without reading its journal. The row of a batch replaces the whole stored row. */
export interface RunRow {
  readonly run: RunId
  readonly crew: string
  /** Version of the crew's code: workers may serve only some versions. */
  readonly version: string
  /** Format of the journal: workers may serve only some formats. */
  readonly format: number
  /** Runs of a higher priority are offered first. Never changes. */
  readonly priority: Priority
  readonly status: RunStatus
  /** ISO 8601. */
  readonly createdAt: string
  readonly updatedAt: string
  /** The run that this fork was made from. */
  readonly forkedFrom?: RunId
  /** Inputs as JSON, opaque to the store; empty if too large for a listing. Never changes. */
  readonly inputs: string
  /** The rest of what a listing shows, as JSON, opaque to the store. Rewritten with every row, so keep it small. */
  readonly summary: string
}

/** The key by which `findOutput` finds a task's output. `seq` is the line that completed the task. */
export interface OutputKey {
  readonly task: string
  readonly fingerprint: string
  readonly seq: number
  /** Completion time in ms since 1970, for imported runs. Default: the store's clock. */
  readonly completedAt?: number
}

/** Written as a whole or not at all. `lines` follow the last entry without a gap; there is at least one. */
export interface Batch {
  /** The run to append to, if it is a child of the leased root. Default: the leased root. */
  readonly run?: RunId
  readonly lines: readonly Line[]
  /** The new listing row. Default: the stored row stays. */
  readonly row?: RunRow
  /**
   * When the run next needs a worker: in ms since 1970, or `'now'` by the store's clock. Ignored without a row. A row
   * without `due` lets the run wait for a message.
   */
  readonly due?: number | 'now'
  /** The run made progress: its tries and deaths are counted from 0 again. */
  readonly progress?: true
  readonly outputs?: readonly OutputKey[]
  /** A blob whose hash the run already has is ignored. */
  readonly blobs?: readonly Blob[]
  /** Ids of the inbox messages that these lines record. They leave the inbox together with this batch. */
  readonly taken?: readonly string[]
}

/** A message to a run from any process, with or without the lease. The id is unique within the run, forever. */
export interface Message {
  readonly id: string
  /** ISO 8601. */
  readonly at: string
  /** Opaque to the store. */
  readonly body: string
}

export interface RunFilter {
  readonly crew?: string
  readonly status?: readonly RunStatus[]
  readonly forkedFrom?: RunId
  /** Root runs only. */
  readonly roots?: true
  /** Only the tree of this root. */
  readonly root?: RunId
  /** Inclusive start. Compared with `createdAt` as text, so use the format of `toISOString`. */
  readonly createdFrom?: string
  /** Exclusive end. */
  readonly createdTo?: string
}

/** Where the next page starts. Opaque; created by `rules/listing.ts`. */
export type Cursor = string

/** The runs of one crew, version and format: a worker serves some lanes. */
export interface Lane {
  readonly crew: string
  readonly version: string
  readonly format: number
}

/** A root that is ready to be advanced. */
export interface ReadyRun extends Lane {
  readonly run: RunId
  readonly priority: Priority
  /**
   * Since when the run is ready, in whole ms since 1970 by the store's clock. Stays the same until its tree is written
   * to or its lease changes.
   */
  readonly readyAt: number
}

/** Limits of one claim. */
export interface ClaimLimits {
  readonly limit: number
  /** Claim only this root. It is looked up by id, however many runs are ready. */
  readonly runId?: RunId
  /**
   * Runs that the claim must not take, since the caller is working on them. Their leases may have expired during an
   * outage, and the caller will renew them.
   */
  readonly exclude?: ReadonlySet<RunId>
  /** Maximum number of held runs of these crews, over all processes. Runs in `exclude` count as held. */
  readonly crewLimit?: number
}

/** How a root's leases since its last progress ended (the table in rules/ready.ts). */
export interface Tries {
  /** Number of claims since the last progress. Each one delays the next offer. */
  readonly tries: number
  /** Number of holders since the last progress that ended without a release. */
  readonly deaths: number
}

export interface RenewedLease {
  readonly lease: Lease
  /** Number of messages that wait for the tree. */
  readonly waiting: number
}

export interface Store {
  /** The URL that opens this store again, without credentials: for messages and logs. */
  readonly url: string

  /** One sentence on how confirmed steps may be lost, if the store's settings allow that. */
  readonly caution?: string

  /**
   * The store's clock, in ms since 1970. Leases expire by it, and `due` and `since` are compared with it. Machines that
   * share a store may have different clocks, so compute a time that others should respect from this one.
   */
  now(): Promise<number>

  /**
   * Creates a run with its first batch (seq from 1), and leases it on request. A child run is created under the lease
   * of its root, which is returned. Resolves with `created: false` and no lease if the id exists; nothing is written
   * then. Rejects with LEASE_LOST if the root's lease is no longer valid.
   */
  create(
    run: RunRow,
    batch: Batch,
    lease?: { owner: Owner; ttlMs: number } | Lease,
  ): Promise<{ created: boolean; lease?: Lease }>

  /**
   * Appends to a run. `after` must be its last entry: the last line or, if the last lines were lost, the entry of
   * `lastNoted`, so that no number is issued twice. Resolves with the number of messages that wait for the tree.
   * Messages left in the inbox of a run that becomes cancelled stay readable, but are never recorded: they no longer
   * count as waiting, neither here nor for `claim`.
   *
   * - LEASE_LOST: the lease isn't the newest, was released, or belongs to another root. An expired lease is still valid
   *   until another process takes it: fencing protects the journal, not time.
   * - RUN_NOT_FOUND: the tree has no such run.
   * - SEQ_CONFLICT: the journal doesn't end at `after`.
   * - OUTCOME_UNKNOWN: the store cannot tell whether the batch was written. Read the tail to find out.
   * - RUN_ENDED: the run is cancelled, or is completed and the batch doesn't reopen it. A row with any other status
   *   reopens a completed run, which is how a run continues after a person edited its journal.
   * - INBOX_WAITING: the batch completes the run but leaves a message in its inbox. The sender of the message was
   *   promised that it came in time.
   */
  append(lease: Lease, after: number, batch: Batch): Promise<number>

  /** Yields the lines with `seq > after` in order, as of the start of the read. An unknown run has none. */
  read(run: RunId, after?: number): AsyncIterable<Line>

  /**
   * Returns the store's note on the newest entry, which shows whether the last lines are lost. A note is never written
   * before its line is on disk: a caller that reads first the note and then the lines finds that line, unless it was
   * lost. Undefined for an unknown run and for a store without notes.
   */
  lastNoted(run: RunId): Promise<LastEntryNote | undefined>

  blob(run: RunId, hash: string): Promise<Uint8Array | undefined>

  row(run: RunId): Promise<RunRow | undefined>

  /** Newest `createdAt` first, then by id descending, so that pages never skip or repeat a run. */
  list(filter: RunFilter, page: { limit: number; before?: Cursor }): Promise<{ rows: RunRow[]; next?: Cursor }>

  /** Finds the newest output of a crew's task with this fingerprint, completed at or after `since` (ms since 1970). */
  findOutput(
    crew: string,
    task: string,
    fingerprint: string,
    since?: number,
  ): Promise<{ run: RunId; seq: number; completedAt: number } | undefined>

  /**
   * Takes the lease of the run's root, with a token higher than any before. The same owner, or any process on the host
   * of a dead owner, takes over at once. Rejects with RUN_HELD, naming the owner, while the lease of another live owner
   * lasts, and with RUN_NOT_FOUND if the run or its root doesn't exist.
   */
  acquire(run: RunId, owner: Owner, ttlMs: number): Promise<Lease>

  /**
   * Leases up to `limit` ready roots of these lanes: roots that are due or have a waiting message, and have no holder.
   * Highest priority first, then the longest ready. A run that is claimed repeatedly without progress is offered later
   * each time. A run with deaths (`Tries`) is a suspect: an owner gets one, and none while it holds another
   * (rules/ready.ts). Leases of dead processes are freed first. Never leases one run to two callers, and never a run in
   * `exclude`.
   *
   * With `runId`, claims that root, or nothing if it isn't ready, is in none of these lanes, is a child run, or doesn't
   * exist.
   *
   * With `crewLimit`, claims only so many runs that at most `crewLimit` are held. These runs count as held: every root
   * of the crews of these lanes, in any version, format and status, while its lease is unexpired by the store's clock,
   * however it was acquired; and every such root in `exclude`, even if its lease has expired. Counting and leasing are
   * one step, so concurrent claims together never exceed the limit. Only claims respect it: `acquire`, `create` and the
   * renewal of an expired lease may exceed it.
   */
  claim(owner: Owner, ttlMs: number, lanes: readonly Lane[], limits: ClaimLimits): Promise<Lease[]>

  /**
   * Lists the ready roots of these lanes, each once and at most `limit`, in the order in which a claim takes them,
   * without leasing them. Runs of dead processes appear only once a claim has freed their leases. Searches like
   * `claim`, so polling it every second is cheap enough. Stores on a server list or claim at most 10,000 runs at once.
   */
  ready(lanes: readonly Lane[], limit: number): Promise<ReadyRun[]>

  /** Extends leases, expired or not, unless another process took them. Returns the leases that are still held. */
  renew(leases: readonly Lease[], ttlMs: number): Promise<RenewedLease[]>

  /**
   * Releases a lease. Resolves with the number of messages that wait for the tree, and with 0 for a lost lease. The
   * release of a lost lease shows that its holder is alive: if its death was counted, the count is corrected.
   */
  release(lease: Lease): Promise<number>

  /** Returns the current holder of a run. Expired leases and leases of dead processes don't count. */
  holder(run: RunId): Promise<Owner | undefined>

  /** Returns the counters of a run's root; zeros for an unknown run. */
  tries(run: RunId): Promise<Tries>

  /**
   * Leaves a message, which wakes the root. Resolves with 'exists' if a message with this id was ever posted, and with
   * 'ended' if the run or its root is completed or cancelled. Rejects with RUN_NOT_FOUND if one of the two doesn't
   * exist.
   */
  post(run: RunId, message: Message): Promise<'posted' | 'exists' | 'ended'>

  /** Returns the messages that no append has taken yet, oldest first. */
  inbox(run: RunId): Promise<Message[]>

  /**
   * Yields when a run (or any run, if undefined) may have changed: by a write, a release, or a message. The watchers of
   * a root are also woken by a message to any run of its tree. With `only`, yields when a message may have come. These
   * are hints: one may come without a change, and several changes may become one. A release by another process, and an
   * expired lease, may yield none. Ends when the signal aborts.
   */
  watch(run: RunId | undefined, signal: AbortSignal, only?: 'messages'): AsyncIterable<void>

  /**
   * Deletes a run with its child runs and everything that belongs to them. Rejects with RUN_HELD while its root is
   * leased. An unknown run isn't an error.
   */
  delete(run: RunId): Promise<void>

  close(): Promise<void>
}
