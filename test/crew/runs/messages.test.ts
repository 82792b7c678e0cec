// The conversation behind an output travels with the output, and the prompt of a task is read back byte for byte.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { fileStore } from '../../../src/stores/file/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, entriesOf, newStore, orDeath, stateOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

const quiet = { info() {}, warn() {} }

/** facts (with a tool) → plan (a function) → risk → note. */
function chain(store: Store, texts: { readonly risk?: string } = {}) {
  const look = tool({
    name: 'look',
    description: 'Look',
    effect: 'read',
    input: z.object({}),
    run: () => ({ found: 1 }),
  })
  const model = scriptedModel([
    { when: 'Task: Facts', calls: [{ tool: 'look', input: {} }] },
    {
      when: 'Task: Facts',
      reply: (text) => `facts "with" $blob, {braces} and [entry 3] ${'f'.repeat(300)} ${text.length}`,
    },
    { when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} by ${text.length} ${'x'.repeat(300)}` },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const tasks = [
    new Task({ name: 'facts', description: 'Facts', agent, tools: [look] }),
    new Task({ name: 'plan', effect: 'read', run: () => ({ steps: 2 }) }),
    new Task({ name: 'risk', description: texts.risk ?? 'Risk', agent }),
    new Task({ name: 'note', description: 'Note', agent }),
  ]
  return { crew: new Crew({ name: 'chain', tasks, store, logger: quiet }), model }
}

describe('the conversation of a restored task', () => {
  test('is that of the run that made it, in a replay, in a replay of that, and read back', async () => {
    const store = newStore()
    const { crew } = chain(store)
    const first = await crew.kickoff({ id: 'one' })
    assert.deepEqual(
      first.tasks.map(({ messages }) => messages.map(({ role }) => role)),
      [['user', 'assistant', 'tool', 'assistant'], [], ['user', 'assistant'], ['user', 'assistant']],
    )
    const second = await crew.replay('note', { runId: 'one', id: 'two' })
    const third = await crew.replay('note', { runId: 'two', id: 'three' })
    for (const result of [second, third]) {
      assert.deepEqual(result.task('facts').messages, first.task('facts').messages)
      assert.deepEqual(result.task('risk').messages, first.task('risk').messages)
    }
    assert.deepEqual((await crew.run('three').view()).task('risk').messages, first.task('risk').messages)
  })

  test('survives the deletion of the run that made it, and an import of the new run', async () => {
    await using folder = await temporaryFolder()
    const store = newStore()
    const { crew } = chain(store)
    const first = await crew.kickoff({ id: 'one' })
    await crew.replay('note', { runId: 'one', id: 'two' })
    await crew.run('one').delete()
    const file = join(folder.path, 'two.jsonl')
    await crew.run('two').export(file)
    const elsewhere = chain(newStore())
    await elsewhere.crew.import(file)
    assert.deepEqual((await elsewhere.crew.run('two').view()).task('risk').messages, first.task('risk').messages)
  })

  test('is unchanged when an output before it has changed', async () => {
    const store = newStore()
    const { crew } = chain(store)
    const first = await crew.kickoff({ id: 'one', through: 'risk' })
    await crew.run('one').edit('facts', 'other facts')
    await crew.resume('one')
    const forked = await crew.replay('note', { runId: 'one', stale: 'keep' })
    assert.deepEqual([forked.task('facts').raw, forked.task('risk').status], ['other facts', 'inherited'])
    assert.deepEqual(forked.task('risk').messages, first.task('risk').messages)
  })

  test('is that of the offered or reused output', async () => {
    const store = newStore()
    const { crew } = chain(store)
    const first = await crew.kickoff({ id: 'one' })
    const reused = await crew.kickoff({ reuse: true })
    assert.equal(reused.task('risk').status, 'inherited')
    assert.deepEqual(reused.task('risk').messages, first.task('risk').messages)
    // risk comes out equal, so that note keeps its output
    const offered = await crew.replay('risk', { runId: 'one', only: 'descendants' })
    assert.equal(offered.task('note').status, 'inherited')
    assert.deepEqual(offered.task('note').messages, first.task('note').messages)
  })
})

describe('the pinned prompt of a task', () => {
  test('is stored by reference, and sent byte for byte the same after a crash at any append', async () => {
    const reference = chain(newStore())
    await reference.crew.kickoff({ id: 'r' })
    const sent = reference.model.calls.map(({ conversation }) => conversation)
    await atEveryAppend(async (dying) => {
      const store = newStore()
      const { crew, model } = chain(store)
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      await crew.kickoff({ id: 'r' })
      const asked = model.calls.map(({ conversation }) => conversation)
      assert.deepEqual([...new Set(asked)], sent)
    })
    const store = newStore()
    await chain(store).crew.kickoff({ id: 'r' })
    const state = await stateOf(store, 'r')
    const pinned = state.attempts.get('note#1')?.pinned?.message ?? []
    assert.equal(pinned.filter((piece) => typeof piece !== 'string').length, 3)
    assert.ok(state.attempts.get('note#1')?.request.message.includes(state.tasks.get('facts')?.output?.raw ?? '?'))
  })

  test('stays the same when an output was superseded since', async () => {
    const store = newStore()
    const { crew } = chain(store)
    await crew.kickoff({ id: 'r', through: 'risk' })
    const before = (await stateOf(store, 'r')).attempts.get('risk#1')?.request.message
    await crew.run('r').edit('facts', 'other facts')
    await crew.resume('r')
    const state = await stateOf(store, 'r')
    assert.equal(state.attempts.get('risk#1')?.request.message, before)
    assert.match(state.attempts.get('note#1')?.request.message ?? '', /other facts/)
  })

  for (const [what, change, told] of [
    ['changed', (line: string) => line.replace('ffff', 'gggg'), /gggg/],
    ['removed', () => '', /\[entry \d+, removed\]/],
  ] as const) {
    test(`voids its attempt if it was ${what} by hand, and the run stays readable`, async () => {
      await using folder = await temporaryFolder()
      const store = await fileStore(folder.path)
      const { crew, model } = chain(store)
      // stopped during note, before its first reply
      const stop = new AbortController()
      const stopping: Store = {
        ...store,
        async append(lease, after, batch) {
          const waiting = await store.append(lease, after, batch)
          if (batch.lines.some(({ bytes }) => Buffer.from(bytes).includes('"path":"note#1"'))) stop.abort()
          return waiting
        },
      }
      await crew.with({ store: stopping }).kickoff({ id: 'r', signal: stop.signal })
      const entries = await entriesOf(store, 'r')
      const done = entries.find(({ type, path }) => type === 'model.replied' && path === 'facts#1/2')
      const file = join(folder.path, 'r.jsonl')
      const lines = (await readFile(file, 'utf8')).split('\n')
      const edited = lines.map((line) => (line.includes(`"seq":${done?.seq},`) ? change(line) : line))
      await writeFile(file, edited.filter((line, index) => line !== '' || index === edited.length - 1).join('\n'))
      const again = await fileStore(folder.path)
      const state = await stateOf(again, 'r')
      assert.equal(state.attempts.get('note#1')?.status, 'void')
      assert.match(state.attempts.get('note#1')?.request.message ?? '', told)
      const calls = model.calls.length
      const result = await chain(again).crew.resume('r', { changed: 'continue' })
      assert.equal(result.status, 'completed')
      assert.ok(model.calls.length >= calls)
      assert.equal((await stateOf(again, 'r')).tasks.get('note')?.attempts.length, 2)
      await again.close()
      await store.close()
    })
  }
})
