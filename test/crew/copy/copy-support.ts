// Shared by the tests of copies: runs of every kind, long runs, and a store that dies like a process.
import { createHash } from 'node:crypto'
import { Agent, Crew, RepriseError, Task } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { scriptedModel } from 'reprise/testing'
import { allRows } from '../../../src/read/all-rows.ts'
import { copyEngines, copyRun } from '../../../src/engine/history/copy-run.ts'
import { oldestFirst } from '../../../src/stores/rules/listing.ts'
import { currentOwner } from '../../../src/stores/owner.ts'
import type { Line, Store } from '../../../src/stores/store.ts'
import { linesOf, message, ttlMs } from '../../../src/testing/store-contract/harness.ts'

const quiet = { info() {}, warn() {} }

/** plan → settle, a crew whose only task a person judges → note. */
export function claims(store: Store): Crew {
  const agent = someAgent()
  const tasks = [
    new Task({ name: 'plan', description: 'Plan', agent }),
    new Task({ name: 'settle', crew: settling(store) }),
    new Task({ name: 'note', description: 'Note', agent, humanInput: true }),
  ]
  return new Crew({ name: 'claims', tasks, store, logger: quiet })
}

export function settling(store: Store): Crew {
  const sum = new Task({ name: 'sum', description: 'Sum', agent: someAgent(), humanInput: true })
  return new Crew({ name: 'settling', tasks: [sum], store, logger: quiet })
}

function someAgent(): Agent {
  const model = scriptedModel([{ when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} is done` }])
  return new Agent({ role: 'A', goal: 'g', model })
}

/** Adds entries that change nothing: that the callbacks for the first entry have returned. */
export async function lengthen(store: Store, run: string, count: number): Promise<void> {
  const lease = await store.acquire(run, currentOwner(), ttlMs)
  const last = (await linesOf(store, run)).at(-1) as Line
  let { seq, bytes } = last
  const lines = Array.from({ length: count }, (_, index): Line => {
    const prev = createHash('sha256').update(bytes).digest('base64url')
    const entry = { type: 'callback.returned', of: 1, token: lease.token, prev }
    bytes = Buffer.from(
      JSON.stringify({ v: journalVersion, seq: last.seq + 1 + index, at: new Date().toISOString(), ...entry }),
    )
    seq += 1
    return { seq, bytes }
  })
  await store.append(lease, last.seq, run === lease.run ? { lines } : { run, lines })
  await store.release(lease)
}

/** Runs that ended, are queued, wait in a nested crew, have unrecorded messages, or are long. */
export async function everyKind(store: Store): Promise<void> {
  const crew = claims(store)
  await crew.kickoff({ id: 'told' })
  await store.post(
    'told',
    message('edit:1', JSON.stringify({ type: 'edit', task: 'plan', raw: 'x', structured: false })),
  )
  await store.post('told/settle#1', message('odd'))
  await crew.enqueue({ id: 'queued and told' })
  await store.post('queued and told', message('cancel:1', JSON.stringify({ type: 'cancel' })))
  await crew.kickoff({ id: 'long' })
  await lengthen(store, 'long', 210)
  await lengthen(store, 'long/settle#1', 210)
  await crew.kickoff({ id: 'ended' })
  await crew.run('ended').answer('settle/q1', { decision: 'approve' })
  await crew.resume('ended')
  await crew.run('ended').answer('q1', { decision: 'approve' })
  await crew.resume('ended')
}

/** What became of a run. */
export type Copied = Awaited<ReturnType<typeof copyRun>>['outcome'] | RepriseError

/** All runs of a store, oldest first, one by one. A run that is refused has its error. */
export async function copyAll(from: Store, to: Store, runs?: readonly string[]): Promise<{ [run: string]: Copied }> {
  const outcomes: { [run: string]: Copied } = {}
  const rows = (await Array.fromAsync(allRows(from, { roots: true }))).toSorted(oldestFirst)
  for (const run of runs ?? rows.map((row) => row.run)) {
    outcomes[run] = await copyRun(copyEngines(from, to), run, false).then(
      ({ outcome }) => outcome,
      (error: unknown) => {
        if (!RepriseError.isInstance(error)) throw error
        return error
      },
    )
  }
  return outcomes
}

/**
 * A store whose process dies after so many writes to it and to others that count with it: no call comes through any
 * more.
 */
export function mortal(inner: Store, count: { left: number }): Store {
  const gone = (): never => {
    throw new Error('the process is dead')
  }
  const written = async <T>(write: () => Promise<T>): Promise<T> => {
    if (count.left <= 0) gone()
    count.left -= 1
    const answer = await write()
    return count.left === 0 ? gone() : answer
  }
  const looked = async <T>(look: () => Promise<T>): Promise<T> => (count.left <= 0 ? gone() : look())
  return {
    ...inner,
    create: (...args) => written(() => inner.create(...args)),
    append: (...args) => written(() => inner.append(...args)),
    post: (...args) => written(() => inner.post(...args)),
    acquire: (...args) => written(() => inner.acquire(...args)),
    release: (...args) => written(() => inner.release(...args)),
    renew: (...args) => looked(() => inner.renew(...args)),
    row: (...args) => looked(() => inner.row(...args)),
    inbox: (...args) => looked(() => inner.inbox(...args)),
    close: async () => {},
  }
}
