// The port between the engine and whatever keeps journals. A store knows nothing of agents or models: it keeps the
// exact bytes it is given, in order, and lets one holder at a time write them. What every store promises:
// - when `append` or `create` resolves, the batch is on disk, whole; when it rejects with anything but OUTCOME_UNKNOWN,
//   nothing of it is there;
// - the check of the lease's token and the write are one: a holder that lost its lease cannot write;
// - the listing row, output keys, blobs and taken messages of a batch change together with its lines;
// - lines come back byte for byte;
// - a run that can advance is offered by `claim`, whatever was killed when (rules/ready.ts).
// A run and the runs that work for it are one unit: the lease of the run at the top, the root, is that of all of them.
// All errors are RepriseErrors; those named below are the contract. Beside them, every call rejects with
// STORE_UNAVAILABLE while the store cannot be reached (nothing was written), and a write with OUTCOME_UNKNOWN when its
// reply was lost.

import type { Blob, Owner, Priority, RunStatus } from '../journal/entries.ts'

export type { Blob, Owner, Priority, RunStatus }

/**
 * Any text. One that ends like `/settle#1` is the run of a task that is a crew and works for the run named before that
 * (`callerOf`).
 */
export type RunId = string

/**
 * The right to append to a root and to the runs that work for it. `token` grows with every change of hands; the store
 * refuses all but the newest.
 */
export interface Lease {
  /** The root. */
  readonly run: RunId
  readonly token: number
  /** Of this acquisition alone. It fences together with the token: a store that was put back may give a token again. */
  readonly id: string
  /** Who has it, for people. It proves nothing. */
  readonly owner: Owner
}

/** One entry of a journal as stored. `seq` counts from 1. The bytes are the caller's and are not interpreted. */
export interface Line {
  readonly seq: number
  readonly bytes: Uint8Array
  /** Of its bytes, where whoever appends it has it at hand: a store that notes it need not hash them again. */
  readonly hash?: string
}

/** An entry that a store noted apart from the lines. Without a hash, only its number is known. */
export interface LastEntryNote {
  readonly seq: number
  /** Of its bytes, as `prev` of the next entry says it. */
  readonly hash?: string
}

/** What listing a run needs without reading its journal. Replaced as a whole by each batch that carries one. */
export interface RunRow {
  readonly run: RunId
  readonly crew: string
  /** The version of the crew's code, for workers that serve only some. */
  readonly version: string
  /** The format of the journal, likewise. */
  readonly format: number
  /** Offered before those of a lower one. It never changes. */
  readonly priority: Priority
  readonly status: RunStatus
  /** ISO 8601. */
  readonly createdAt: string
  readonly updatedAt: string
  /** The run that this one was made from. */
  readonly forkedFrom?: RunId
  /**
   * Opaque to the store: the inputs as JSON text, or nothing where they are too large for a listing. They never change.
   */
  readonly inputs: string
  /**
   * Opaque to the store: whatever else a listing shows, as JSON text. It is written again with every row, so it is
   * small.
   */
  readonly summary: string
}

/** Makes an output findable by what it depends on. `seq` is the line that completed the task. */
export interface OutputKey {
  readonly task: string
  readonly fingerprint: string
  readonly seq: number
  /**
   * When it was completed, in ms since 1970, for a run that was made elsewhere. Left out, the store's clock says it.
   */
  readonly completedAt?: number
}

/** All or nothing. `lines` go after the last entry without a gap; a batch has at least one line. */
export interface Batch {
  /** The run that it is for, where that is not the leased one but works for it. */
  readonly run?: RunId
  readonly lines: readonly Line[]
  /** The new listing row; left out, the stored one stays as it is. */
  readonly row?: RunRow
  /**
   * With a row: when the run wants a worker, in ms since 1970, or `now` by the store's own clock; left out, not before
   * a message comes.
   */
  readonly due?: number | 'now'
  /** The run has got further: it is not what keeps ending its processes. */
  readonly progress?: true
  readonly outputs?: readonly OutputKey[]
  /** A blob whose hash the run already has is ignored. */
  readonly blobs?: readonly Blob[]
  /** Ids of inbox messages that these lines record; they leave the inbox with this batch. */
  readonly taken?: readonly string[]
}

/** Something left for a run by someone who does not hold it. Unique by id within the run, for ever. */
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
  /** Only runs that work for no other. */
  readonly roots?: true
  /** Only this run, which works for no other, and those that work for it. */
  readonly root?: RunId
  /** From this time on. Compared with `createdAt` as text, so written as that is: what `toISOString` gives. */
  readonly createdFrom?: string
  /** Up to, and without, this time. */
  readonly createdTo?: string
}

/** Where the next page starts; opaque. Made by `rules/cursor.ts`. */
export type Cursor = string

/** What a worker can advance. */
export interface Lane {
  readonly crew: string
  readonly version: string
  readonly format: number
}

/** A root that somebody should advance now. */
export interface ReadyRun extends Lane {
  readonly run: RunId
  readonly priority: Priority
  /**
   * Since when it is ready, in ms since 1970, by the store's clock: a whole number, which stays the same for as long as
   * nothing is written to the run or to one that works for it, and its lease does not change.
   */
  readonly readyAt: number
}

/** How much a claim may give. */
export interface ClaimLimits {
  readonly limit: number
  /** Only this root, for whoever was told which one to advance. It is looked up by its id, however many are ready. */
  readonly runId?: RunId
  /**
   * The runs that the caller is at: their leases may have expired while the store was away, and it will renew them.
   */
  readonly exclude?: ReadonlySet<RunId>
  /**
   * At most so many runs of these lanes' crews are held at once, by anybody. Those that the caller has count, too.
   */
  readonly crewLimit?: number
}

/** What became of the last leases of a root (the table in rules/ready.ts). */
export interface Tries {
  /** How often it was claimed since it last got further: it is offered later each time. */
  readonly tries: number
  /** How many of its holders ended, since it last got further, without a release and without progress. */
  readonly deaths: number
}

export interface RenewedLease {
  readonly lease: Lease
  readonly waiting: number
}

export interface Store {
  /** The URL that opens this store again, without credentials: for messages and logs. */
  readonly url: string

  /** What may become of steps that were confirmed, where that is less than everybody would expect, in one sentence. */
  readonly caution?: string

  /**
   * What the store's clock says, in ms since 1970: `due` and `since` are compared with it, and leases expire by it.
   * Machines that share a store may have other clocks: a time from now on that others are to keep is counted by this.
   */
  now(): Promise<number>

  /**
   * Creates a run with its first batch (seq from 1, with a row), and leases it when asked to. A run that works for
   * another is created under the lease of its root, which is given back; LEASE_LOST when that no longer counts.
   * `created: false` when a run of this id is there already: then nothing was written and no lease is given.
   */
  create(
    run: RunRow,
    batch: Batch,
    lease?: { owner: Owner; ttlMs: number } | Lease,
  ): Promise<{ created: boolean; lease?: Lease }>

  /**
   * Appends to a run after entry `after`, which is the last that is there, or the last that is noted where lines were
   * lost after it: no number is given twice. Answers how many messages wait for the root and the runs that work for
   * it. With a row that says cancelled, those that are left in the inbox of that run no longer wait: they stay there
   * for those who look, but nobody records them, so they count no more, here and for `claim`. LEASE_LOST when the
   * lease is not the newest, was released, or is of another root (an expired lease that nobody took still appends:
   * fencing, not time, protects the journal). RUN_NOT_FOUND for an unknown run of the unit. SEQ_CONFLICT when the
   * journal does not end at `after`. OUTCOME_UNKNOWN when the store cannot tell whether the batch was written: read
   * the tail and see. RUN_ENDED when the stored row says that the run is cancelled, or that it is completed and the
   * batch does not open it again: by a row of its own whose status is neither, which is how a completed run continues
   * whose journal a person edited. INBOX_WAITING when the batch completes the run and leaves a message in its inbox:
   * whoever posted it was told that it was in time.
   */
  append(lease: Lease, after: number, batch: Batch): Promise<number>

  /** The lines with `seq > after`, in order, as they are when the read begins. An unknown run has none. */
  read(run: RunId, after?: number): AsyncIterable<Line>

  /**
   * The newest entry that the store has noted apart from the lines, so that the loss of the last ones is noticed. It is
   * never noted before its line is on disk, so whoever asks first and reads then finds the line, unless it was lost.
   * Undefined when nothing is noted: an unknown run, or a store that keeps no note.
   */
  lastNoted(run: RunId): Promise<LastEntryNote | undefined>

  blob(run: RunId, hash: string): Promise<Uint8Array | undefined>

  row(run: RunId): Promise<RunRow | undefined>

  /** Newest `createdAt` first, then by id descending, so that pages never skip or repeat a run. */
  list(filter: RunFilter, page: { limit: number; before?: Cursor }): Promise<{ rows: RunRow[]; next?: Cursor }>

  /**
   * The newest output of that crew and task with that fingerprint, completed at or after `since` (ms since 1970), and
   * when it was.
   */
  findOutput(
    crew: string,
    task: string,
    fingerprint: string,
    since?: number,
  ): Promise<{ run: RunId; seq: number; completedAt: number } | undefined>

  /**
   * Takes the lease of a run, which is that of its root, with a token higher than any before. RUN_HELD, naming the
   * owner, while another live owner's lease lasts. The same owner, or anyone on the same host once the owning process
   * is gone, takes over at once. RUN_NOT_FOUND.
   */
  acquire(run: RunId, owner: Owner, ttlMs: number): Promise<Lease>

  /**
   * Leases up to `limit` roots of these lanes that are ready: due, or with a message that waits, and held by nobody.
   * Those of the highest priority first, then those that have been ready for the longest time. A run that is claimed
   * again and again without progress is offered later each time. Of the runs whose last holder died without progress,
   * an owner is given one, and none while it holds another (rules/ready.ts). Leases of processes that are gone are
   * freed first. Never gives one run to two callers, and none that the caller `has`.
   *
   * With `only`, gives that root, or nothing when it is not ready, in none of these lanes, works for another run, or is
   * not there.
   *
   * With `most`, gives no more than are missing to so many held runs. What counts as held: every root whose row names
   * the crew of one of these lanes, in whatever version, format and status, that is under a lease which has not expired
   * by the store's clock, however it was given; and every such root that the caller `has`, whatever became of its
   * lease. Counting and leasing are one, so claims that are made at once never go over `most` together. Only claims
   * heed it: `acquire`, `create` and the renewal of a lease that had expired may go over it.
   */
  claim(owner: Owner, ttlMs: number, lanes: readonly Lane[], room: ClaimLimits): Promise<Lease[]>

  /**
   * The roots of these lanes that are ready now, each once and at most `limit`: what a claim with so much room would
   * give, in its order, but nobody gets a lease. Those of processes that are gone are among them only when a claim has
   * freed their leases. It searches as `claim` does, so whoever tells others which runs to advance may ask it every
   * second. Servers give the first 10,000 at most, as for a claim.
   */
  ready(lanes: readonly Lane[], limit: number): Promise<ReadyRun[]>

  /** Extends leases, also expired ones that nobody took; gives back those that are still held. */
  renew(leases: readonly Lease[], ttlMs: number): Promise<RenewedLease[]>

  /**
   * Gives a lease back, and answers how many messages wait for the root and the runs that work for it. Releasing one
   * that is no longer held answers 0, and shows that its holder is alive: if its death was counted, that is undone.
   */
  release(lease: Lease): Promise<number>

  /** Who holds a run now, if anybody does: an expired lease, or one of a process that is gone, is nobody's. */
  holder(run: RunId): Promise<Owner | undefined>

  /** How the last leases of the root of a run ended. An unknown run had none. */
  tries(run: RunId): Promise<Tries>

  /**
   * Leaves a message, which wakes the root. 'exists' when one with this id was ever posted; 'ended' when the run or its
   * root is completed or cancelled. RUN_NOT_FOUND when one of them is not there.
   */
  post(run: RunId, message: Message): Promise<'posted' | 'exists' | 'ended'>

  /** The messages not yet taken, oldest first. */
  inbox(run: RunId): Promise<Message[]>

  /**
   * Yields when a run (or, without one, any run) may have changed: an append, a message to it or to a run that works
   * for it, a release; with `only`, when a message may have come. A hint only: it may come for nothing, and several
   * changes may give one; for the release by another process none may come, as for an expired lease. Ends when the
   * signal aborts.
   */
  watch(run: RunId | undefined, signal: AbortSignal, only?: 'messages'): AsyncIterable<void>

  /**
   * Removes a run with the runs that work for it, and all that belongs to them. RUN_HELD while its root is leased. An
   * unknown run isn't an error.
   */
  delete(run: RunId): Promise<void>

  close(): Promise<void>
}
