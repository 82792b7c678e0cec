// A run and its child runs are one unit: exported, imported, deleted and pruned together, and never mixed up with
// others.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { fileStore } from '../../../src/stores/file/store.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { sqliteStore } from '../../../src/stores/sqlite/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { entriesOf, newStore, orDeath, dyingStore, stateOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

const quiet = { info() {}, warn() {} }
const inputs = { topic: 'fire' }

interface Scene {
  readonly store?: Store
  /** Fails after the payment. */
  readonly fails?: boolean
  readonly asks?: boolean
  readonly depth?: number
  readonly file?: string
  readonly told?: string[]
}

/** plan → settle, a crew of pay (once) and sum, `depth` crews down → note. */
function claims({ store = newStore(), fails = false, asks = false, depth = 1, file, told = [] }: Scene = {}) {
  const paid: string[] = []
  const pay = tool({
    name: 'pay',
    description: 'Pay',
    input: z.object({ to: z.string() }),
    run: ({ to }) => `paid ${paid.push(to)}`,
  })
  const model = scriptedModel([
    ...(fails ? [{ when: 'Task: Sum', error: 'no power' }] : []),
    {
      when: (text) => text.includes('Task: Pay') && !text.includes('paid'),
      calls: [{ tool: 'pay', input: { to: 'Ada' } }],
    },
    { when: 'Task: Pay', reply: (text) => `done for ${/Pay (\w+)/.exec(text)?.[1]}` },
    { when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} on ${/fire|water/.exec(text)?.[0]}` },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const output = file === undefined ? {} : { outputFile: file }
  const first = new Task({ name: 'pay', description: 'Pay {topic}', agent, tools: [pay] })
  const sum = new Task({
    name: 'sum',
    description: 'Sum {topic}',
    agent,
    humanInput: asks,
    callback: ({ name }) => void told.push(name),
    ...output,
  })
  let crew = new Crew({
    name: 'settling',
    tasks: [first, sum],
    store,
    logger: quiet,
    onStep: ({ path }) => void told.push(path),
    afterKickoff: () => void told.push('end'),
  }) as Crew
  for (let deep = 1; deep < depth; deep++)
    crew = new Crew({ name: `level-${deep}`, tasks: [new Task({ name: 'inner', crew })], store, logger: quiet })
  const plan = new Task({ name: 'plan', description: 'Plan {topic}', agent })
  const settle = new Task({ name: 'settle', crew })
  const note = new Task({ name: 'note', description: 'Note {topic}', agent })
  return {
    crew: new Crew({ name: 'claims', tasks: [plan, settle, note], store, logger: quiet }),
    within: crew,
    store,
    paid,
    model,
  }
}

const kinds: { readonly [kind: string]: (folder: string) => Promise<Store> } = {
  memory: async () => newStore(),
  sqlite: (folder) => sqliteStore(join(folder, 'runs.db')),
  file: (folder) => fileStore(join(folder, 'state')),
}

async function runsIn(store: Store): Promise<string[]> {
  return (await store.list({}, { limit: 100 })).rows.map(({ run }) => run).toSorted()
}

describe('the calls of a nested crew', () => {
  for (const depth of [1, 2, 3]) {
    test(`are known once each, however often the task is replayed, ${depth} deep`, async () => {
      const { crew, store, paid } = claims({ depth })
      let run = (await crew.kickoff({ id: 'r0', inputs })).runId
      for (let generation = 1; generation <= 6; generation++)
        run = (await crew.replay('settle', { runId: run, id: `r${generation}` })).runId
      assert.equal(paid.length, 1)
      const [created] = await entriesOf(store, run)
      assert.equal(created?.type === 'run.created' && created.calls?.length, 1)
      const [within] = await entriesOf(store, `${run}/settle#1`)
      assert.equal(within?.type === 'run.created' && within.calls?.length, 1)
    })
  }

  test('are known once each even if they may be repeated, and services saw the same keys', async () => {
    const store = newStore()
    const sent: string[] = []
    const send = tool({
      name: 'send',
      description: 'Send',
      effect: 'idempotent',
      input: z.object({}),
      run: (_, { idempotencyKey }) => `sent ${sent.push(idempotencyKey)}`,
    })
    const model = scriptedModel([
      { when: (text) => text.includes('Task: Send') && !text.includes('sent'), calls: [{ tool: 'send', input: {} }] },
      { when: 'Task:', reply: 'done' },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model, tools: [send] })
    const mail = new Task({ name: 'mail', description: 'Send', agent })
    const within = new Crew({ name: 'within', tasks: [mail], logger: quiet })
    const tasks = [mail, new Task({ name: 'crew', crew: within })]
    const crew = new Crew({ name: 'mails', tasks, store, logger: quiet })
    await crew.kickoff({ id: 'r0' })
    for (let generation = 1; generation <= 4; generation++)
      await crew.replay('mail', { runId: `r${generation - 1}`, id: `r${generation}` })
    assert.equal(sent.length, 10)
    assert.equal(new Set(sent).size, 2)
    const [created] = await entriesOf(store, 'r4')
    assert.deepEqual(created?.type === 'run.created' && created.calls?.map(({ task }) => task), ['mail', 'crew/mail'])
  })

  test('are known once each when resumes start new attempts of the task', async () => {
    const store = newStore()
    await assert.rejects(claims({ store, fails: true }).crew.kickoff({ id: 'r', inputs }))
    for (let attempt = 0; attempt < 4; attempt++) {
      const { crew } = claims({ store, fails: true })
      await crew.run('r').invalidate('settle')
      await assert.rejects(crew.resume('r'))
    }
    const { crew, paid } = claims({ store })
    await crew.run('r').invalidate('settle')
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.equal(paid.length, 0)
    const state = await stateOf(store, 'r')
    assert.equal(state.tasks.get('settle')?.childCalls?.length, 1)
    const [created] = await entriesOf(store, state.attempts.get('settle#6')?.child ?? '')
    assert.equal(created?.type === 'run.created' && created.calls?.length, 1)
  })

  test('are known even two crews down, from an attempt that the finished one replaced', async () => {
    const store = newStore()
    await assert.rejects(claims({ store, fails: true, depth: 2 }).crew.kickoff({ id: 'r', inputs }))
    const { crew, paid } = claims({ store, depth: 2 })
    await crew.run('r').invalidate('settle')
    await crew.resume('r')
    await crew.replay('settle', { runId: 'r', id: 's' })
    assert.equal(paid.length, 0)
    const [created] = await entriesOf(store, 's')
    assert.deepEqual(created?.type === 'run.created' && created.calls?.map(({ task }) => task), ['settle/inner/pay'])
  })

  test('are known even if a person removed the line that started its attempt', async () => {
    await using folder = await temporaryFolder()
    const store = await fileStore(folder.path)
    await assert.rejects(claims({ store, fails: true }).crew.kickoff({ id: 'r', inputs }))
    const file = join(folder.path, 'r.jsonl')
    const lines = (await readFile(file, 'utf8')).split('\n')
    await writeFile(file, lines.filter((line) => !line.includes('"path":"settle#1"')).join('\n'))
    const { crew, paid } = claims({ store })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.equal(paid.length, 0)
    await crew.replay('settle', { runId: 'r' })
    assert.equal(paid.length, 0)
    await store.close()
  })

  test('are still known after the crew that made them completed and the task was executed again', async () => {
    const { crew, store, paid } = claims()
    await crew.kickoff({ id: 'r', inputs, through: 'settle' })
    await crew.run('r').invalidate('settle')
    await crew.resume('r', { through: 'settle' })
    await crew.run('r').invalidate('settle')
    await crew.resume('r')
    await crew.replay('settle', { runId: 'r', id: 's' })
    assert.equal(paid.length, 1)
    const [created] = await entriesOf(store, 's')
    assert.equal(created?.type === 'run.created' && created.calls?.length, 1)
  })
})

for (const [kind, open] of Object.entries(kinds)) {
  describe(`on ${kind}, a run with a nested crew`, () => {
    test('is exported with its child run, so that it continues elsewhere and pays nothing twice', async () => {
      await using folder = await temporaryFolder()
      const store = await open(folder.path)
      const file = join(folder.path, 'claim.jsonl')
      const broken = claims({ store, fails: true, depth: 2 })
      await assert.rejects(broken.crew.kickoff({ id: 'claim', inputs }))
      await broken.crew.run('claim').export(file)
      for (const as of [undefined, 'copy']) {
        const { crew, store: there, paid, model } = claims({ store: newStore(), depth: 2 })
        const imported = await crew.import(file, as === undefined ? {} : { as })
        assert.deepEqual([imported.runs, imported.existed], [3, false])
        const id = as ?? 'claim'
        assert.deepEqual(await runsIn(there), [id, `${id}/settle#1`, `${id}/settle#1/inner#1`])
        assert.equal((await crew.import(file, as === undefined ? {} : { as })).existed, true)
        assert.equal(String(await crew.resume(id)), 'Note on fire')
        assert.deepEqual([paid.length, model.calls.length], [0, 2])
      }
      await store.close()
    })

    test('is exported with the question of its nested crew, which is answered after the import', async () => {
      await using folder = await temporaryFolder()
      const store = await open(folder.path)
      const file = join(folder.path, 'claim.jsonl')
      const asking = claims({ store, asks: true })
      await asking.crew.kickoff({ id: 'claim', inputs })
      await asking.crew.run('claim').export(file)
      const { crew, paid } = claims({ store: newStore(), asks: true })
      await crew.import(file, { as: 'copy' })
      const [summary] = await crew.runs().page()
      assert.deepEqual([summary?.runId, summary?.openQuestions], ['copy', 1])
      await crew.run('copy').answer('settle/q1', { decision: 'approve' })
      assert.equal((await crew.resume('copy')).status, 'completed')
      assert.equal(paid.length, 0)
      await store.close()
    })

    test('is deleted with its child run, and another run under the same id makes its own', async () => {
      await using folder = await temporaryFolder()
      const store = await open(folder.path)
      const first = claims({ store, depth: 2 })
      await first.crew.kickoff({ id: 'claim-1', inputs })
      await first.crew.kickoff({ id: 'claim-10', inputs })
      await first.crew.run('claim-1').delete()
      assert.deepEqual(await runsIn(store), ['claim-10', 'claim-10/settle#1', 'claim-10/settle#1/inner#1'])
      const { crew } = claims({ store, depth: 2 })
      const result = await crew.kickoff({ id: 'claim-1', inputs: { topic: 'water' } })
      assert.equal(result.task('settle').raw, 'Sum on water')
      await store.close()
    })

    test('keeps its child run until it is done, whatever is pruned', async () => {
      await using folder = await temporaryFolder()
      const store = await open(folder.path)
      const broken = claims({ store, fails: true })
      // killed before it could say that it failed, while the run of its crew had
      const dying = dyingStore(store, (types) => types.includes('run.failed'))
      await orDeath(broken.crew.with({ store: dying }).kickoff({ id: 'claim', inputs }))
      assert.equal((await stateOf(store, 'claim/settle#1')).status, 'failed')
      const pruned = await broken.within.prune({ keep: 0 })
      assert.deepEqual(pruned.runs, [])
      const { crew, paid } = claims({ store })
      assert.equal((await crew.resume('claim')).status, 'completed')
      assert.equal(paid.length, 0)
      assert.deepEqual(
        (await crew.prune({ keep: 0 })).runs.map(({ runId }) => runId),
        ['claim'],
      )
      assert.deepEqual(await runsIn(store), [])
      await store.close()
    })
  })
}

describe('a child run', () => {
  test('does not belong to an earlier run with the same id, even if it still exists', async () => {
    const { crew, store, within } = claims()
    await crew.kickoff({ id: 'claim', inputs })
    // as a version that did not know of units, or a kill within the deletion, leaves it
    const left = await within.run('claim/settle#1').view()
    const remains = memoryStore()
    for (const { run } of (await store.list({}, { limit: 10 })).rows)
      if (run === left.runId) await remains.create((await store.row(run))!, { lines: await linesOf(store, run) })
    const other = claims({ store: remains })
    const result = await other.crew.kickoff({ id: 'claim', inputs: { topic: 'water' } })
    assert.equal(result.task('settle').raw, 'Sum on water')
    assert.equal((await stateOf(remains, 'claim')).attempts.get('settle#2')?.child, 'claim/settle#2')
  })

  test('is not a run that was stored under its name while the parent ran', async () => {
    const { crew, store } = claims()
    await crew.kickoff({ id: 'other', inputs })
    const forged: Store = {
      ...store,
      async append(lease, after, batch) {
        const waiting = await store.append(lease, after, batch)
        const starts = batch.lines.some(({ bytes }) => Buffer.from(bytes).includes('"path":"settle#1"'))
        const row = await store.row('other/settle#1')
        if (lease.run === 'claim' && starts && row)
          await store.create({ ...row, run: 'claim/settle#1' }, { lines: (await linesOf(store, row.run)).slice(0, 1) })
        return waiting
      },
    }
    await assert.rejects(crew.with({ store: forged }).kickoff({ id: 'claim', inputs: { topic: 'water' } }), {
      code: 'RUN_EXISTS',
      message: /run claim\/settle#1 was not created by settle#1 of run claim/,
    })
  })

  test('has a name that no user can give a run', async () => {
    const { crew } = claims()
    const taken = { code: 'OPTION_INVALID', message: /"claim\/settle#1" is reserved for a child run of run claim/ }
    await assert.rejects(crew.kickoff({ id: 'claim/settle#1', inputs }), taken)
    await crew.kickoff({ id: 'claim', inputs })
    await assert.rejects(crew.fork({ runId: 'claim', id: 'claim/settle#1' }), taken)
    await assert.rejects(crew.backtest('note', { id: 'claim/settle#1' }), taken)
    await assert.rejects(crew.import('x', { as: 'claim/settle#1' }), taken)
    assert.equal((await crew.kickoff({ id: 'a/b', inputs })).runId, 'a/b')
  })

  test('is not deleted without its parent, and is never the latest run of its crew', async () => {
    const { crew, within, store } = claims()
    await crew.kickoff({ id: 'claim', inputs })
    await assert.rejects(within.run('claim/settle#1').delete(), {
      code: 'RUN_NEEDED',
      message: /delete that run with crew\.run\('claim'\)\.delete\(\)$/,
    })
    await assert.rejects(within.refresh(), { code: 'RUN_NOT_FOUND' })
    assert.equal(await store.row('claim/settle#1').then((row) => row?.status), 'completed')
  })

  test('can be exported alone, and is imported under another id as a run of its own', async () => {
    await using folder = await temporaryFolder()
    const { crew, within, store } = claims()
    await crew.kickoff({ id: 'claim', inputs })
    const file = join(folder.path, 'settle.jsonl')
    await within.run('claim/settle#1').export(file)
    await assert.rejects(within.import(file), {
      code: 'OPTION_INVALID',
      message: /reserved for a child run of run claim/,
    })
    await within.import(file, { as: 'alone' })
    assert.equal((await within.run('alone').view()).caller, undefined)
    await within.run('alone').delete()
    assert.equal(await store.row('alone'), undefined)
  })
})

test('a backtest of a nested crew writes no file, calls no callback, and returns recorded results to its calls', async () => {
  await using folder = await temporaryFolder()
  const before = process.cwd()
  process.chdir(folder.path)
  try {
    const { crew, paid } = claims({ file: 'out/sum.md' })
    await crew.kickoff({ inputs })
    const told: string[] = []
    const trial = claims({ store: newStore(), file: 'trial/sum.md', told })
    const file = join(folder.path, 'run.jsonl')
    await crew.run((await crew.runs().page())[0]?.runId ?? '').export(file)
    await trial.crew.import(file)
    const { cases, equal } = await trial.crew.backtest('settle')
    assert.deepEqual([cases.length, equal, cases[0]?.error], [1, 1, undefined])
    assert.deepEqual(cases[0]?.withheld, [])
    assert.deepEqual([paid.length, trial.paid.length, told], [1, 0, []])
    assert.equal(existsSync('trial'), false)
    // without a record, what was not called is named
    const fresh = claims({ store: newStore(), told })
    await fresh.crew
      .with({
        tools: [
          tool({
            name: 'pay',
            description: 'Pay',
            effect: 'read',
            input: z.object({ to: z.string() }),
            run: () => 'paid',
          }),
        ],
      })
      .kickoff({ inputs })
    const unknown = await fresh.crew.backtest('settle')
    assert.deepEqual(unknown.cases[0]?.withheld, ['pay'])
    assert.equal(fresh.paid.length, 0)
  } finally {
    process.chdir(before)
  }
})

async function linesOf(store: Store, run: string) {
  return Array.fromAsync(store.read(run))
}
