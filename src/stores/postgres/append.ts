// Groups appends. A synced commit costs far more than the data that it commits, and a round trip more than both, so all
// appends that arrive while a statement is in progress share the next one. If the server refuses a statement, its
// appends are sent one by one, so that none fails its neighbours.
import { RepriseError } from '../../base/errors.ts'
import { rootRunId } from '../../journal/paths.ts'
import { isOutage } from '../patient-store.ts'
import { checkInbox, checkNumbers, checkOpen, checkSeq, unknownRunError, storeClosedError } from '../rules/refusals.ts'
import { checkToken, checkTree, toHolding } from '../rules/leases.ts'
import type { Batch, Lease, RunId, RunStatus } from '../store.ts'
import {
  type Append,
  numberParts,
  appendColumns,
  blobColumns,
  lineColumns,
  messageColumns,
  outputColumns,
  rootNameColumns,
  listingColumns,
  StatementValues,
} from './columns.ts'
import { type Database, readySql } from './database.ts'
import { unchanged, findRoot } from './leases.ts'
import { appendSql, type Parts, type Tables } from './append-sql.ts'

/** Limits of one statement: its memory, and how long building it blocks the event loop. */
const groupLimit = 256
const groupBytes = 4 * 1024 * 1024
/** Statements in progress at once: while one waits for the disk, the server parses the next. */
const groupsAtOnce = 2
/** How often an append is sent if it writes nothing and there is no reason to refuse it. */
const maxTries = 5

interface Job extends Append {
  readonly bytes: number
  readonly resolve: (waiting: number) => void
  readonly reject: (error: unknown) => void
}

interface Appends {
  /** Resolves with the number of messages that wait for the tree. */
  append(lease: Lease, after: number, batch: Batch): Promise<number>
  /** Waits for all appends. Later ones are refused. */
  close(): Promise<void>
}

export function groupAppends(database: Database): Appends {
  const statementFor = appendStatements(database)
  let queue: Job[] = []
  let scheduled = false
  let closed = false
  const inProgress = new Set<Promise<void>>()
  /**
   * Roots with an append in progress. Later appends to their trees wait: a statement changes a row at most once, and
   * order matters within a tree.
   */
  const busyRoots = new Set<RunId>()

  function schedule(): void {
    if (scheduled || queue.length === 0 || inProgress.size >= groupsAtOnce) return
    scheduled = true
    setImmediate(flush)
  }

  function flush(): void {
    scheduled = false
    const group = nextGroup()
    if (group.length === 0) return
    const sent = send(group).finally(() => {
      inProgress.delete(sent)
      for (const { lease } of group) busyRoots.delete(lease.run)
      schedule()
    })
    inProgress.add(sent)
    schedule()
  }

  function nextGroup(): Job[] {
    const group: Job[] = []
    const rest: Job[] = []
    const skipped = new Set(busyRoots)
    let bytes = 0
    for (const job of queue) {
      const fits = group.length === 0 || (group.length < groupLimit && bytes + job.bytes <= groupBytes)
      if (fits && !skipped.has(job.lease.run)) {
        group.push(job)
        bytes += job.bytes
        busyRoots.add(job.lease.run)
      } else {
        rest.push(job)
      }
      skipped.add(job.lease.run)
    }
    queue = rest
    return group
  }

  async function send(group: readonly Job[], tries = 1): Promise<void> {
    try {
      const { text, values } = statementFor(group)
      const written = await database.write<{ n: number; waiting: number }>(text, values)
      const waiting = new Map(written.map((row) => [row.n, row.waiting]))
      await Promise.all(group.map((job, index) => settle(job, waiting.get(index + 1), tries)))
    } catch (error) {
      if (isOutage(error)) for (const job of group) job.reject(error)
      else if (group.length > 1) for (const job of group) await send([job])
      else for (const job of group) await refuse(job, error)
    }
  }

  async function settle(job: Job, waiting: number | undefined, tries: number): Promise<void> {
    if (waiting !== undefined) job.resolve(waiting)
    else if (await refuse(job, tries < maxTries ? undefined : damagedHeadError(database, job)))
      await send([job], tries + 1)
  }

  /**
   * Rejects the append with the reason for the refusal, if there is one, or else with `error`. Returns true
   * if there is neither: the reason is gone, or the counters of the head were wrong and have been fixed, so try again.
   */
  async function refuse(job: Job, error?: unknown): Promise<boolean> {
    try {
      await checkRefusal(database, job)
      if (error !== undefined) throw error
      await recountTree(database, job.run)
      return true
    } catch (reason) {
      job.reject(reason)
      return false
    }
  }

  return {
    append(lease, after, batch) {
      const run = batch.run ?? lease.run
      return new Promise((resolve, reject) => {
        if (closed) throw storeClosedError(database.url)
        checkNumbers(run, after, batch)
        const bytes = batchBytes(batch)
        queue.push({ lease, run, after, batch, bytes, resolve, reject })
        schedule()
      })
    },
    async close() {
      closed = true
      while (queue.length > 0 || inProgress.size > 0) {
        if (inProgress.size > 0) await Promise.all(inProgress)
        else await new Promise((resolve) => setImmediate(resolve))
      }
    },
  }
}

function damagedHeadError({ url }: Database, { run }: Append): RepriseError {
  const words = `the counters of run ${run} in ${url} contradict its entries and messages: restore the database from a copy`
  return new RepriseError('JOURNAL_DAMAGED', words, { runId: run })
}

function batchBytes({ lines, blobs = [], row }: Batch): number {
  const bytes = [...lines, ...blobs].reduce((sum, part) => sum + part.bytes.length, 0)
  return bytes + (row === undefined ? 0 : row.inputs.length + row.summary.length)
}

/**
 * Finds out why the statement wrote nothing, in the order in which every store checks. Rejects with LEASE_LOST,
 * RUN_NOT_FOUND, SEQ_CONFLICT, RUN_ENDED or INBOX_WAITING. Resolves if the append may be written now.
 */
async function checkRefusal(database: Database, { lease, run, after, batch }: Append): Promise<void> {
  const root = await findRoot(database, lease.run)
  checkToken(lease, root?.token, toHolding(root))
  checkTree(lease, run)
  const [found] = await database.read<{ id: number; seq: number; status: RunStatus }>(
    `select id, status, greatest(seq, (select max(e.seq) from ${database.schema}.entries e where e.run_id = h.id)) as seq
     from ${database.schema}.heads h where run = $1`,
    [run],
  )
  if (found === undefined) throw unknownRunError(run, database.url)
  checkSeq(run, found.seq, after, batch)
  checkOpen(run, found.status, batch)
  const waiting = await database.read<{ message: string }>(
    `select message from ${database.schema}.messages where run_id = $1 and not taken order by id`,
    [found.id],
  )
  checkInbox(run, batch, () => waiting.map(({ message }) => message))
}

/**
 * Recomputes the counters of a tree from its lines and messages. Edits by hand may make them wrong, and then nothing
 * can be appended. Messages to a cancelled run don't wait.
 */
async function recountTree(database: Database, run: RunId): Promise<void> {
  const { schema } = database
  const root = rootRunId(run)
  const lastSeq = `(select coalesce(max(e.seq), 0) from ${schema}.entries e where e.run_id = h.id)`
  const messages = `(select count(*) from ${schema}.messages m where m.run_id = h.id and not m.taken)::int`
  const waiting = `(select coalesce(sum(h.inbox), 0) from ${schema}.listing l join ${schema}.heads h on h.id = l.id
    where l.root = $2)::int`
  await database.transaction(async ({ query }) => {
    // lock the root first, so that the next statement sees what others have committed
    await query(`select 1 from ${schema}.heads where run = $1 for no key update`, [root])
    await query(
      `update ${schema}.heads h set root = $2, seq = greatest(h.seq, ${lastSeq}),
         hash = case when h.seq >= ${lastSeq} then h.hash end,
         inbox = case when h.status = 'cancelled' then 0 else ${messages} end
       where h.run = $1 or h.id in (select l.id from ${schema}.listing l where l.root = $2)`,
      [run, root],
    )
    await query(
      `update ${schema}.heads h set waiting = ${waiting},
         ready_at = ${readySql({ ...unchanged, waiting, expiresAt: 'h.expires_at' })}
       where h.run = $2`,
      [database.now(), root],
    )
  })
}

interface Statement {
  readonly text: string
  readonly values: StatementValues['values']
}

/**
 * Returns a function that builds the statement for a group of appends. The statement returns a row for each append that
 * it has written: `n`, the position in the group from 1, and the number of waiting messages.
 */
export function appendStatements(database: Database): (group: readonly Append[]) => Statement {
  /** SQL by its shape: building a text takes longer than the rest of the work for a step. */
  const texts = new Map<string, string>()
  return (group) => {
    const parameters = new StatementValues(database.now())
    const parts = partsOf(group)
    const tables = tablesOf(group, parts, parameters)
    const { appends, lines, messages, blobs, outputs } = tables
    const shape = [...Object.values(parts), ...[appends, lines, messages, blobs, outputs].map((table) => table?.isOne)]
    const key = shape.join()
    const text = texts.get(key) ?? appendSql(database, parts, tables)
    texts.set(key, text)
    return { text, values: parameters.values }
  }
}

function partsOf(group: readonly Append[]): Parts {
  return {
    children: group.some(({ run, lease }) => run !== lease.run),
    rows: group.some(({ batch }) => batch.row !== undefined),
    taken: group.some(({ batch }) => batch.taken !== undefined && batch.taken.length > 0),
    closing: group.some(({ run, lease, batch }) => run !== lease.run && batch.row?.status === 'cancelled'),
  }
}

function tablesOf(group: readonly Append[], parts: Parts, parameters: StatementValues): Tables {
  const columns = {
    ...appendColumns,
    ...(parts.children ? rootNameColumns : {}),
    ...(parts.rows ? listingColumns : {}),
  }
  const [messages, blobs, outputs] = [
    numberParts(group, ({ batch }) => batch.taken ?? []),
    numberParts(group, ({ batch }) => batch.blobs ?? []),
    numberParts(group, ({ batch }) => batch.outputs ?? []),
  ]
  const lines = numberParts(group, ({ batch }) => batch.lines)
  return {
    appends: parameters.table(group, columns),
    count: group.length === 1 ? undefined : parameters.add(group.length, 'int8'),
    lines: parameters.table(lines, lineColumns),
    messages: messages.length === 0 ? undefined : parameters.table(messages, messageColumns),
    blobs: blobs.length === 0 ? undefined : parameters.table(blobs, blobColumns),
    outputs: outputs.length === 0 ? undefined : parameters.table(outputs, outputColumns),
  }
}
