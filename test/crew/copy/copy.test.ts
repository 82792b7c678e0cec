// Copying runs from one store to another: what is copied, what is left alone, and what is refused by name.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { copyRuns, Crew, file, Task, type CopiedRun, type CopiedRuns } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { fileStore, memoryStore, openStore, sqliteStore, thisOwner, type Batch, type Store } from 'reprise/stores'
import { jumpingClock } from 'reprise/testing'
import { inspectPostgres } from '../../../src/stores/postgres/inspect-postgres.ts'
import { elsewhere, linesOf, message } from '../../../src/testing/store-contract/harness.ts'
import { dyingStore, entriesOf, longTexts, newStore, oneTask, orDeath } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { sharedServer, without } from '../../support/servers/shared-server.ts'
import { claims, lengthen } from './copy-support.ts'
import { everythingIn } from './everything.ts'

const skip = await without('postgres')
const done = [{ when: 'Do it', reply: 'done' }]
const lane = (crew: string) => ({ crew, version: '', format: journalVersion })

function outcomes({ runs }: CopiedRuns): { readonly [run: string]: CopiedRun['outcome'] } {
  return Object.fromEntries(runs.map(({ runId, outcome }) => [runId, outcome]))
}

/** Two runs that are completed, and one that waits for a person in a task that is a crew. */
async function threeRuns(store: Store): Promise<void> {
  const { crew } = oneTask({ script: done, store })
  await crew.kickoff({ id: 'a' })
  await crew.kickoff({ id: 'b' })
  await claims(store).kickoff({ id: 'c' })
}

test('all runs are copied, with those that work for them, and the result says what was written', async () => {
  const source = newStore()
  const target = newStore()
  await threeRuns(source)
  const heard: string[] = []
  const copied = await copyRuns(source, target, {
    onRun: ({ runId }, total) => void heard.push(`${runId} of ${total}`),
  })
  assert.deepEqual(await everythingIn(target), await everythingIn(source))
  assert.deepEqual(outcomes(copied), { a: 'copied', b: 'copied', c: 'copied' })
  assert.deepEqual(heard.toSorted(), ['a of 3', 'b of 3', 'c of 3'])
  const c = copied.runs.find(({ runId }) => runId === 'c')
  const lines = [...(await linesOf(source, 'c')), ...(await linesOf(source, 'c/settle#1'))]
  assert.deepEqual([c?.runs, c?.entries, c?.status], [2, lines.length, 'suspended'])
  assert.ok((c?.bytes ?? 0) > lines.reduce((sum, { bytes }) => sum + bytes.length, 0), 'with the stored values')
})

test('the files among the inputs of a run are copied, and can be read there', async () => {
  const source = newStore()
  const target = newStore()
  const crew = (store: Store): Crew => {
    const read = new Task({
      name: 'read',
      run: async (context) => Buffer.from(await context.readFile('notes.txt')).toString(),
      effect: 'read',
    })
    const stop = new Task({ name: 'stop', run: () => 'stopped', effect: 'read' })
    return new Crew({ name: 'files', tasks: [stop, read], store })
  }
  const notes = file(new Uint8Array(Buffer.from('Water in the cellar')), { name: 'notes.txt' })
  await crew(source).kickoff({ id: 'r', inputs: { notes }, through: 'stop' })
  await copyRuns(source, target)
  const copied = await everythingIn(target)
  assert.deepEqual(copied, await everythingIn(source))
  assert.ok(JSON.stringify(copied).includes('Water in the cellar'))
  assert.equal(String(await crew(target).resume('r')), 'Water in the cellar')
})

test('nothing is written to the store that runs are copied from', async () => {
  const source = newStore()
  await threeRuns(source)
  await source.post('c', message('odd'))
  const never = (): never => assert.fail('something was written')
  const watched: Store = { ...source, create: never, append: never, acquire: never, claim: never, release: never }
  const { runs } = await copyRuns({ ...watched, renew: never, post: never, delete: never }, newStore())
  assert.ok(runs.every(({ outcome }) => outcome === 'copied'))
})

test('a run that a process executes is named and left out, and copied by the same call when that is over', async () => {
  const source = newStore()
  const target = newStore()
  await threeRuns(source)
  const lease = await source.acquire('c', elsewhere('box'), 30_000)
  assert.deepEqual(outcomes(await copyRuns(source, target)), { a: 'copied', b: 'copied', c: 'held' })
  assert.equal(await target.row('c'), undefined)
  await source.release(lease)
  assert.deepEqual(outcomes(await copyRuns(source, target)), { a: 'present', b: 'present', c: 'copied' })
})

test('a run that goes on while it is copied is one that a process executes, and what is there of it counts for nothing', async () => {
  const source = newStore()
  const target = newStore()
  const crew = claims(source)
  await crew.kickoff({ id: 'c' })
  await lengthen(source, 'c', 300)
  let answered = false
  const meddling: Store = {
    ...target,
    async append(...args) {
      if (!answered) await crew.run('c').answer('settle/q1', { decision: 'approve' })
      answered = true
      return target.append(...args)
    },
  }
  assert.deepEqual(outcomes(await copyRuns(source, meddling)), { c: 'held' })
  assert.deepEqual(await target.claim(thisOwner(), 30_000, [lane('claims')], { limit: 10 }), [])
  assert.deepEqual(outcomes(await copyRuns(source, target)), { c: 'copied' })
  assert.deepEqual(await everythingIn(target), await everythingIn(source))
})

test('a run that went on where it comes from is completed where it was copied to', async () => {
  const source = newStore()
  const target = newStore()
  const crew = claims(source)
  await crew.kickoff({ id: 'c' })
  await copyRuns(source, target)
  await crew.run('c').answer('settle/q1', { decision: 'approve' })
  assert.deepEqual(outcomes(await copyRuns(source, target)), { c: 'copied' })
  await crew.resume('c')
  assert.deepEqual(outcomes(await copyRuns(source, target)), { c: 'copied' })
  assert.deepEqual(await everythingIn(target), await everythingIn(source))
})

test('a run that was continued where it was copied to is left as it is, and so is one that was answered there', async () => {
  const source = newStore()
  const target = newStore()
  await claims(source).kickoff({ id: 'c' })
  await claims(source).kickoff({ id: 'd' })
  await copyRuns(source, target)
  const there = claims(target)
  await there.run('c').answer('settle/q1', { decision: 'approve' })
  await there.resume('c')
  await target.post('d', message('odd'))
  const before = await everythingIn(target)
  assert.deepEqual(outcomes(await copyRuns(source, target)), { c: 'present', d: 'present' })
  assert.deepEqual(await everythingIn(target), before)
})

/** Whatever was done to the copy, and to the run since, it is refused with this. */
const conflicts: { readonly [what: string]: readonly [(source: Store, target: Store) => Promise<void>, RegExp] } = {
  'went on in both places': [
    async (source, target) => {
      for (const store of [source, target]) {
        await claims(store).run('c').answer('settle/q1', { decision: 'approve' })
        await claims(store).resume('c')
      }
    },
    /memory:test-\d+ has a run c already, which differs from entry \d+ on; nothing of it was changed/,
  ],
  'went on here in one of its tasks, and there in another': [
    async (source, target) => {
      await lengthen(source, 'c', 1)
      await lengthen(target, 'c/settle#1', 1)
    },
    /has a run c\/settle#1 already, which was continued there, and run c where it comes from/,
  ],
  'went on here, and was left a message there': [
    async (source, target) => {
      await lengthen(source, 'c', 1)
      await target.post('c', message('odd'))
    },
    /has a run c already, which has fewer entries, and a message there, odd/,
  ],
  'is another one there': [
    async (_, target) => {
      await target.delete('c')
      await claims(target).kickoff({ id: 'c' })
    },
    /has a run c already, which differs from entry 1 on/,
  ],
}
for (const [what, [act, words]] of Object.entries(conflicts)) {
  test(`a run that ${what} is refused by name, nothing of it is changed, and the others are copied`, async () => {
    const source = newStore()
    const target = newStore()
    await claims(source).kickoff({ id: 'c' })
    await copyRuns(source, target)
    await act(source, target)
    const before = await everythingIn(target)
    await oneTask({ script: done, store: source }).crew.kickoff({ id: 'later' })
    const copied = await copyRuns(source, target)
    assert.deepEqual(outcomes(copied), { c: 'refused', later: 'copied' })
    const [{ error } = {} as CopiedRun] = copied.runs
    assert.equal(error?.code, 'RUN_EXISTS')
    assert.match(error?.message ?? '', words)
    await target.delete('later')
    assert.deepEqual(await everythingIn(target), before)
  })
}

test('a run of which a part is there that somebody holds is refused, and named with who holds it', async () => {
  const source = newStore()
  const target = newStore()
  await claims(source).kickoff({ id: 'c' })
  await copyRuns(source, target)
  await lengthen(source, 'c', 1)
  await target.acquire('c', elsewhere('box'), 30_000)
  const { runs } = await copyRuns(source, target)
  assert.match(runs[0]?.error?.message ?? '', /run c is held by process 4242 on host box\.example/)
})

test('a damaged run is refused by name before anything of it is written, and the others are copied', async () => {
  await using folder = await temporaryFolder()
  const source = await fileStore(join(folder.path, 'runs'))
  const { crew } = oneTask({ script: done, store: source })
  for (const id of ['cut', 'gap', 'changed', 'torn', 'whole']) await crew.kickoff({ id })
  await longTexts(source).kickoff({ id: 'bare' })
  const edit = async (run: string, change: (lines: string[]) => string[]): Promise<void> => {
    const path = join(folder.path, 'runs', `${run}.jsonl`)
    const lines = (await readFile(path, 'utf8')).split('\n').slice(0, -1)
    await writeFile(
      path,
      change(lines)
        .map((line) => `${line}\n`)
        .join(''),
    )
  }
  await edit('cut', (lines) => lines.slice(0, -1))
  await edit('gap', (lines) => lines.toSpliced(2, 1))
  await edit('changed', (lines) => lines.map((line) => line.replace('"text":"done"', '"text":"gone"')))
  await edit('torn', (lines) => lines.toSpliced(1, 1, '{"seq":'))
  await rm(join(folder.path, 'runs', 'bare.blobs'), { recursive: true })
  const target = newStore()
  const { runs } = await copyRuns(source, target)
  const said = Object.fromEntries(runs.map(({ runId, error }) => [runId, error && `${error.code} ${error.message}`]))
  assert.match(said['cut'] ?? '', /JOURNAL_DAMAGED entry 5 of run cut is missing; replay it, and copy what that gives/)
  assert.match(said['gap'] ?? '', /JOURNAL_DAMAGED entry 3 of run gap is missing; replay it/)
  assert.match(said['changed'] ?? '', /JOURNAL_DAMAGED entry 3 of run changed is not as written; replay it/)
  assert.match(said['torn'] ?? '', /JOURNAL_DAMAGED line 2 of .*torn\.jsonl cannot be read/)
  assert.match(said['bare'] ?? '', /BLOB_MISSING .*run bare.* refers to the stored value/)
  assert.deepEqual(
    (await target.list({}, { limit: 10 })).rows.map(({ run }) => run),
    ['whole'],
  )
  await source.close()
})

test('a line that was changed by hand is copied as it is once a resume has recorded that', async () => {
  await using folder = await temporaryFolder()
  const source = await fileStore(join(folder.path, 'runs'))
  const crew = claims(source)
  await crew.kickoff({ id: 'c' })
  const path = join(folder.path, 'runs', 'c.jsonl')
  await writeFile(path, (await readFile(path, 'utf8')).replace('"text":"Plan is done"', '"text":"Plan is made"'))
  const target = newStore()
  const { runs } = await copyRuns(source, target)
  assert.match(runs[0]?.error?.message ?? '', /entry 3 of run c is not as written; resume it, which records that/)
  await crew.resume('c')
  assert.deepEqual(outcomes(await copyRuns(source, target)), { c: 'copied' })
  assert.deepEqual(await linesOf(target, 'c'), await linesOf(source, 'c'))
  await source.close()
})

test('what waits for workers waits there in the same order, by priority, age and time', async () => {
  const clock = jumpingClock()
  const [source, target] = ['a', 'b'].map((name) => memoryStore({ now: clock.now, url: `memory:queue-${name}` }))
  assert.ok(source && target)
  const crew = oneTask({ script: done, store: source }).crew
  await crew.enqueue({ id: 'later', delay: 3_600 })
  await crew.enqueue({ id: 'low', priority: 'low' })
  await crew.enqueue({ id: 'first' })
  // entries have the time of day, and the order of equal times is nobody's promise
  while (Date.parse((await source.row('first'))?.createdAt ?? '') === Date.now());
  await crew.enqueue({ id: 'second' })
  await crew.enqueue({ id: 'high', priority: 'high' })
  await copyRuns(source, target, { runs: ['second'] })
  clock.jump(1_000)
  await copyRuns(source, target)
  const claim = async (): Promise<string[]> =>
    (await target.claim(thisOwner(), 30_000, [lane('engine')], { limit: 10 })).map(({ run }) => run)
  assert.deepEqual(await claim(), ['high', 'first', 'second', 'low'])
  clock.jump(3_700_000)
  assert.ok((await claim()).includes('later'))
})

test('a message that a run has recorded cannot be left for its copy again, and one that waits is there when it is offered', async () => {
  const source = newStore()
  const target = newStore()
  const crew = claims(source)
  await crew.kickoff({ id: 'c' })
  await crew.run('c').answer('settle/q1', { decision: 'approve' })
  await crew.resume('c')
  const posted: string[] = []
  const noting = (store: Store): Store => ({
    ...store,
    post(run, left) {
      posted.push(left.id)
      return store.post(run, left)
    },
  })
  await oneTask({ script: done, store: source }).crew.kickoff({ id: 'other' })
  await claims(noting(source)).kickoff({ id: 'd' })
  await claims(noting(source)).run('d').answer('settle/q1', { decision: 'approve' })
  const [answer = ''] = posted
  assert.match(answer, /^answer:q1:/)
  await source.post('d', message('odd'))
  await copyRuns(source, target)
  assert.equal(await target.post('d/settle#1', message(answer)), 'exists')
  assert.deepEqual(await target.inbox('d/settle#1'), [])
  assert.deepEqual(await target.inbox('d'), await source.inbox('d'))
})

test('a long run is copied in batches of bounded size', async () => {
  const source = newStore()
  const crew = longTexts(source)
  await crew.kickoff({ id: 'r', through: 'first' })
  await lengthen(source, 'r', 1_000)
  const target = newStore()
  const batches: Batch[] = []
  const noting: Store = {
    ...target,
    create(row, batch, lease) {
      batches.push(batch)
      return target.create(row, batch, lease)
    },
    append(lease, after, batch) {
      batches.push(batch)
      return target.append(lease, after, batch)
    },
  }
  assert.deepEqual(outcomes(await copyRuns(source, noting)), { r: 'copied' })
  assert.deepEqual(await everythingIn(target), await everythingIn(source))
  assert.ok(batches.length > 5)
  assert.ok(batches.every(({ lines }) => lines.length <= 200))
  const sent = batches.flatMap(({ blobs = [] }) => blobs.map(({ hash }) => hash))
  assert.deepEqual(sent, [...new Set(sent)], 'a stored value is sent once')
})

test('the next entry of a copy is written under another token than its last, or a pause would count as work', async () => {
  const source = newStore()
  const first = dyingStore(source, (types) => types.includes('model.replied'))
  await orDeath(oneTask({ script: done, store: first }).crew.kickoff({ id: 'r' }))
  for (const dies of ['run.resumed', 'run.resumed']) {
    const dying = dyingStore(source, (types) => types.includes(dies))
    await orDeath(oneTask({ script: done, store: dying }).crew.resume('r'))
  }
  // a process that is dead holds nothing
  await source.release(await source.acquire('r', thisOwner(), 30_000))
  const target = newStore()
  await copyRuns(source, target)
  const last = (await entriesOf(target, 'r')).at(-1)
  const { token } = await target.acquire('r', thisOwner(), 30_000)
  assert.equal(last?.token, 3)
  assert.ok(token > 3, `the next one is ${token}`)
})

test('runs are chosen by crew, with its backtests, by status as it is shown, by time and by id', async () => {
  const source = newStore()
  await threeRuns(source)
  await oneTask({ script: done, store: source }).crew.backtest('job', { runs: ['a'], id: 'test' })
  const chosen = async (options: object): Promise<string[]> =>
    (await copyRuns(source, newStore(), { ...options, dryRun: true })).runs.map(({ runId }) => runId)
  assert.deepEqual(await chosen({}), ['a', 'b', 'c', 'test:a'])
  assert.deepEqual(await chosen({ crew: 'engine' }), ['a', 'b', 'test:a'])
  assert.deepEqual(await chosen({ crew: 'settling' }), [])
  assert.deepEqual(await chosen({ status: 'waiting' }), ['c'])
  assert.deepEqual(await chosen({ status: ['stopped', 'queued'] }), [])
  assert.deepEqual(await chosen({ until: '2020-01-01' }), [])
  assert.deepEqual(await chosen({ since: '2020-01-01', crew: 'claims' }), ['c'])
  assert.deepEqual(await chosen({ runs: ['c/settle#1', 'a', 'c'] }), ['a', 'c'])
})

test('a dry run says what a copy would write, and writes nothing, not even an empty store', async () => {
  await using folder = await temporaryFolder()
  const source = await sqliteStore(join(folder.path, 'runs.db'))
  await threeRuns(source)
  const to = `sqlite:${join(folder.path, 'new', 'runs.db')}`
  const would = await copyRuns(source, to, { dryRun: true })
  assert.equal(existsSync(join(folder.path, 'new')), false)
  const did = await copyRuns(source, to)
  assert.deepEqual({ ...would, dryRun: false }, did)
  assert.ok((await copyRuns(source, to, { dryRun: true })).runs.every(({ outcome }) => outcome === 'present'))
  await source.close()
})

test('a dry run makes no schema on a server, and one that is not there is nothing to copy from', { skip }, async () => {
  const url = new URL((await sharedServer('postgres')).url)
  const { password } = url
  url.searchParams.set('schema', `unmade_${process.pid}`)
  const source = newStore()
  await threeRuns(source)
  const would = await copyRuns(source, url.href, { dryRun: true })
  assert.deepEqual(outcomes(would), { a: 'copied', b: 'copied', c: 'copied' })
  assert.ok(would.to.includes(`schema=unmade_${process.pid}`) && !would.to.includes(password))
  await assert.rejects(copyRuns(url.href, source), (error: Error & { code?: string }) => {
    assert.match(error.message, /there is nothing at postgres:.*unmade_\d+ to copy from/)
    return error.code === 'RUN_NOT_FOUND' && !error.message.includes(password)
  })
  assert.equal((await inspectPostgres(url.href)).layout, undefined)
})

test('what cannot be copied from, or to, or chosen, is refused before anything is written', async () => {
  await using folder = await temporaryFolder()
  const at = (name: string): string => `sqlite:${join(folder.path, name)}`
  const source = await openStore(at('runs.db'))
  await threeRuns(source)
  const wrong: readonly [Parameters<typeof copyRuns>, string, RegExp][] = [
    [[at('none.db'), at('new.db')], 'RUN_NOT_FOUND', /there is nothing at sqlite:.*none\.db to copy from/],
    [[source, at('runs.db')], 'OPTION_INVALID', /both places are sqlite:.*runs\.db; give another one/],
    [[source, 'redis://user:hidden@host:x'], 'STORE_INVALID', /^(?!.*hidden)/],
    [[source, at('new.db'), { runs: ['nobody'] }], 'RUN_NOT_FOUND', /there is no run nobody/],
    [[source, at('new.db'), { runs: ['a'], crew: 'engine' }], 'OPTION_INVALID', /runs and crew/],
    [[source, at('new.db'), { status: 'done' as never }], 'OPTION_INVALID', /status is "done"/],
    [[source, at('new.db'), { statuses: 'failed' } as never], 'OPTION_UNKNOWN', /did you mean status/],
    [[source, at('new.db'), { concurrency: 0 }], 'OPTION_INVALID', /concurrency is 0/],
  ]
  for (const [args, code, words] of wrong) await assert.rejects(copyRuns(...args), { code, message: words })
  assert.equal(existsSync(join(folder.path, 'new.db')), false)
  await source.close()
})

test('a signal stops a copy between two runs', async () => {
  const source = newStore()
  const target = newStore()
  await threeRuns(source)
  const controller = new AbortController()
  const copying = copyRuns(source, target, {
    concurrency: 1,
    signal: controller.signal,
    onRun: () => controller.abort(new Error('enough')),
  })
  await assert.rejects(copying, /enough/)
  assert.deepEqual(
    (await target.list({}, { limit: 10 })).rows.map(({ run }) => run),
    ['a'],
  )
})

test('a store that breaks ends the copy, and what it did before stays', async () => {
  const source = newStore()
  const target = newStore()
  await threeRuns(source)
  let created = 0
  const broken: Store = {
    ...target,
    create(...args) {
      if (++created === 2) throw new Error('the disk is full')
      return target.create(...args)
    },
  }
  await assert.rejects(copyRuns(source, broken, { concurrency: 1 }), /the disk is full/)
  assert.deepEqual(outcomes(await copyRuns(source, target)), { a: 'present', b: 'copied', c: 'copied' })
})
