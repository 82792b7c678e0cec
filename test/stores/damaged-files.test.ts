// Files damaged by a disk, a program or a person, in every way that a small fuzz finds: each call returns a result, or
// an error that names the file, line or entry. Never an unavailable store, as if a retry could help, and never a
// TypeError.
import assert from 'node:assert/strict'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Agent, Crew, RepriseError, Task } from 'reprise'
import { openStore, currentOwner } from 'reprise/stores'
import { checkJournal } from '../../src/cli/output/show-verification.ts'
import { readEntries } from '../../src/read/read-run.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import {
  batch,
  linesOf as storedLines,
  refused,
  row,
  started,
  ttlMs,
} from '../../src/testing/store-contract/harness.ts'
import { payment } from '../engine/payments.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Mulberry32: the same numbers for the same seed, everywhere. */
function random(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** Rounds for each kind of damage. A hundred and twenty found no more. */
const rounds = 10

type Damage = (bytes: Buffer, pick: (below: number) => number) => Buffer

const linesOf = (bytes: Buffer): string[] => bytes.toString('latin1').split('\n')
const joined = (lines: readonly string[]): Buffer => Buffer.from(lines.join('\n'), 'latin1')

const damages: { readonly [what: string]: Damage } = {
  'a flipped bit': (bytes, pick) => {
    const copy = Buffer.from(bytes)
    const at = pick(copy.length)
    copy[at] = (copy[at] ?? 0) ^ (1 << pick(8))
    return copy
  },
  'bytes of zero': (bytes, pick) => {
    const at = pick(bytes.length)
    return Buffer.from(bytes).fill(0, at, Math.min(bytes.length, at + 1 + pick(40)))
  },
  'a cut': (bytes, pick) => bytes.subarray(0, pick(bytes.length)),
  'a hole': (bytes, pick) => {
    const at = pick(bytes.length)
    return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + pick(60))])
  },
  'a line twice': (bytes, pick) => {
    const lines = linesOf(bytes)
    const at = pick(lines.length)
    return joined(lines.toSpliced(pick(lines.length), 0, lines[at] ?? ''))
  },
  'a line less': (bytes, pick) => joined(linesOf(bytes).toSpliced(pick(linesOf(bytes).length), 1)),
  'another value': (bytes, pick) => {
    const lines = linesOf(bytes)
    const at = pick(lines.length - 1)
    return joined(lines.with(at, mutated(lines[at] ?? '', pick)))
  },
}

/** Some member of some object in the line becomes something else. */
function mutated(line: string, pick: (below: number) => number): string {
  const value = JSON.parse(Buffer.from(line, 'latin1').toString()) as object
  const places: [Record<string, unknown>, string][] = []
  const visit = (object: object): void => {
    for (const [key, member] of Object.entries(object)) {
      places.push([object as Record<string, unknown>, key])
      if (typeof member === 'object' && member !== null) visit(member)
    }
  }
  visit(value)
  const [object, key] = places[pick(places.length)] ?? [{}, '']
  const others = [null, 7, -1, 'text', '', [], {}, [null], { a: null }, true, 1e308]
  object[key] = others[pick(others.length)]
  return Buffer.from(JSON.stringify(value)).toString('latin1')
}

async function allowed(what: string, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    const { code, stack } = error as { code?: string; stack?: string }
    assert.ok(RepriseError.isInstance(error) && code !== 'STORE_FAILED', `${what}: ${stack}`)
  }
}

function crewIn(folder: string): Crew {
  const model = scriptedModel([
    { when: 'Find out', reply: 'facts' },
    { when: 'Do it', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
    { when: 'Do it', after: 1, reply: 'paid' },
  ])
  const clerk = new Agent({ role: 'Clerk', goal: 'g', model, tools: [payment()] })
  const facts = new Task({ name: 'facts', description: 'Find out about {claim}', agent: clerk })
  const pay = new Task({ name: 'pay', description: 'Do it', agent: clerk, humanInput: true })
  const tasks = [facts, pay]
  return new Crew({ name: 'damaged', tasks, store: `file:${folder}`, logger: { info() {}, warn() {} } })
}

/** A folder with a resumed run that waits for the message in its inbox, and an untouched run. */
async function madeIn(folder: string): Promise<void> {
  await using crew = crewIn(folder)
  await crew.kickoff({ id: 'whole', inputs: { claim: 'wall' } })
  await crew.kickoff({ id: 'r', through: 'facts', inputs: { claim: 'roof' } })
  await crew.resume('r')
  await crew.run('r').answer('q1', { decision: 'revise', feedback: 'shorter' })
}

for (const [kind, [what, damage]] of Object.entries(damages).entries()) {
  test(`a folder with ${what} in a file still answers, or names the damage`, async () => {
    await using folder = await temporaryFolder()
    const origin = join(folder.path, 'origin')
    await madeIn(origin)
    const blobs = (await readdir(join(origin, 'r.blobs'))).map((name) => join('r.blobs', name))
    for (let round = 0; round < rounds; round++) {
      const pick = random(kind * 1_000 + round)
      const file = ['r.jsonl', 'r.jsonl', 'r.jsonl', 'r.inbox.jsonl', 'r.end', ...blobs][pick(5 + blobs.length)] ?? ''
      const place = join(folder.path, String(round))
      await cp(origin, place, { recursive: true })
      // a value has lines only in a journal
      const isJournal = file.endsWith('.jsonl')
      if (!isJournal && what === 'another value') continue
      await writeFile(join(place, file), damage(await readFile(join(place, file)), pick))
      await using crew = crewIn(place)
      await using store = Object.assign(await openStore(`file:${place}`), {
        [Symbol.asyncDispose]: () => store.close(),
      })
      const name = `${what}, round ${round}, ${file}`
      const ids = (await crew.runs().page()).map(({ runId }) => runId)
      assert.ok(ids.includes('whole'), `${name}: the other run is listed`)
      await allowed(name, () => crew.run('r').view())
      await allowed(name, () => Array.fromAsync(readEntries(store, 'r')))
      await allowed(name, () => checkJournal(store, 'r'))
      await allowed(name, () => store.row('r'))
      await allowed(name, () => store.inbox('r'))
      await allowed(name, () => crew.plan({ runId: 'r' }))
      await allowed(name, () => crew.run('r').export(join(place, 'out')))
      await allowed(name, () => crew.fork({ runId: 'r', id: 'made' }))
      await allowed(name, () => crew.resume('r'))
      await allowed(name, () => crew.run('r').delete())
    }
  })
}

for (const data of [
  '7',
  '{"row":7}',
  '{"row":{"status":"lost"}}',
  '{"row":{"crew":7}}',
  '{"outputs":7}',
  '{"outputs":[7]}',
  '{"taken":{}}',
  '{"row":{"priority":2}}',
  '{"row":{"format":"1"}}',
  '{"due":"now"}',
]) {
  test(`a line with ${data} beside its entry is named as damaged, and hides no other run`, async () => {
    await using folder = await temporaryFolder()
    await using store = Object.assign(await openStore(`file:${folder.path}`), {
      [Symbol.asyncDispose]: () => store.close(),
    })
    await started(store, 'whole')
    const lease = await started(store, 'r')
    await store.append(lease, 1, batch(2, 1, { row: row('r', { status: 'suspended' }) }))
    const path = join(folder.path, 'r.jsonl')
    await writeFile(
      path,
      (await readFile(path, 'utf8')).replace(
        /"\$store":\{"row":\{"status":"suspended"\},"due":null\}/,
        `"$store":${data}`,
      ),
    )
    assert.deepEqual((await store.list({}, { limit: 9 })).rows.map(({ run }) => run).toSorted(), ['r', 'whole'])
    assert.equal(await store.findOutput('claims', 'facts', 'f'), undefined)
    await refused(storedLines(store, 'r'), 'JOURNAL_DAMAGED', /line 2 of .*r\.jsonl cannot be read/)
  })
}

test('a folder with the name of a journal is reported, and hides no run', async () => {
  await using folder = await temporaryFolder()
  await using store = Object.assign(await openStore(`file:${folder.path}`), {
    [Symbol.asyncDispose]: () => store.close(),
  })
  await started(store, 'whole')
  await mkdir(join(folder.path, 'r.jsonl'))
  assert.equal((await store.list({}, { limit: 9 })).rows.length, 1)
  await refused(store.row('r'), 'JOURNAL_DAMAGED', /a folder in .* has the name of a file of a run/)
})

test('a lease with an unreadable owner belongs to no process, and its former holder is refused', async () => {
  await using folder = await temporaryFolder()
  await using store = Object.assign(await openStore(`file:${folder.path}`), {
    [Symbol.asyncDispose]: () => store.close(),
  })
  const lost = await started(store, 'r')
  const db = new DatabaseSync(join(folder.path, 'leases.db'))
  db.exec("update roots set owner = 'x'")
  db.close()
  assert.equal(await store.holder('r'), undefined)
  const lease = await store.acquire('r', currentOwner(), ttlMs)
  await refused(store.append(lost, 1, batch(2)), 'LEASE_LOST')
  await store.append(lease, 1, batch(2))
})

test('a truncated stored value is named, and is not exported', async () => {
  await using folder = await temporaryFolder()
  await madeIn(folder.path)
  const [name = ''] = await readdir(join(folder.path, 'r.blobs'))
  const path = join(folder.path, 'r.blobs', name)
  await writeFile(path, (await readFile(path)).subarray(0, 100))
  await using crew = crewIn(folder.path)
  await assert.rejects(crew.run('r').export(join(folder.path, 'out')), { code: 'JOURNAL_DAMAGED', message: /of run r/ })
  await assert.rejects(crew.run('r').view(), { code: 'JOURNAL_DAMAGED', message: /entry \d+ of run r/ })
})
