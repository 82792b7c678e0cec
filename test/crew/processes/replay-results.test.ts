// Replays in situations where other frameworks lose, mix up or overwrite results. What derived runs preserve, and the
// options of a replay, are in derived-runs.test.ts.
import assert from 'node:assert/strict'
import { readFile, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type Logger } from 'reprise'
import { z } from 'zod'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { openStage } from './processes.ts'

const inputs = { topic: 'water', reader: 'Ada' }
const silent: Logger = { info() {}, warn() {} }

/** Tasks that say their names, each given all before it. */
function crewOf(store: string, names: readonly string[], script: readonly ScriptEntry[] = [], logger = silent) {
  const model = scriptedModel([...script, { when: 'Task:', reply: (text) => `by ${/Task: (\w+)/.exec(text)?.[1]}` }])
  const agent = new Agent({ role: 'A', goal: 'g', model, maxRetries: 0 })
  const tasks = names.map((name) => new Task({ name, description: `${name} on {topic} for {reader}`, agent }))
  return { crew: new Crew({ name: 'c', tasks, store, logger }), model }
}

describe('a structured output', () => {
  const report = z.object({
    title: z.string(),
    published: z.iso.date().transform((day) => new Date(day)),
    sections: z.array(z.object({ heading: z.string(), notes: z.record(z.string(), z.number()) })),
  })
  const said = { title: 'Floods', published: '2030-01-02', sections: [{ heading: 'Rain', notes: { may: 3 } }] }

  function reporting(store: string) {
    const model = scriptedModel([
      { when: 'Task: Research', reply: said },
      { when: 'Task: Write', reply: (text) => (text.includes('"heading":"Rain"') ? 'on rain' : 'on nothing') },
    ])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const research = new Task({ name: 'research', description: 'Research', agent, output: report })
    const write = new Task({ name: 'write', description: 'Write', agent })
    return { crew: new Crew({ name: 'c', tasks: [research, write], store }), research }
  }

  // 1
  for (const kind of ['sqlite', 'file']) {
    test(`is restored in full by replays of replays on ${kind}, transforms included, and passed on unchanged`, async () => {
      await using folder = await temporaryFolder()
      const store = `${kind}:${join(folder.path, 'runs')}`
      const first = reporting(store)
      await first.crew.kickoff()
      await first.crew.close()
      for (let time = 0; time < 2; time++) {
        const { crew, research } = reporting(store)
        await using _ = crew
        const again = await crew.replay('write')
        assert.equal(again.task(research).status, 'inherited')
        assert.deepEqual(again.task(research).output, { ...said, published: new Date('2030-01-02') })
        assert.equal(String(again), 'on rain')
      }
    })
  }
})

describe('a task without an output', () => {
  // 2
  test('can be replayed, whether it failed or was never reached, with its missing predecessors', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    const broken = crewOf(store, ['a', 'b', 'c', 'd'], [{ when: 'Task: b', error: 'no power' }])
    await assert.rejects(broken.crew.kickoff({ id: 'r', inputs }), { task: 'b' })
    await broken.crew.close()
    for (const [task, executed] of [
      ['b', ['b', 'c', 'd']],
      ['d', ['b', 'c', 'd']],
    ] as const) {
      const { crew, model } = crewOf(store, ['a', 'b', 'c', 'd'])
      await using _ = crew
      const again = await crew.replay(task, { runId: 'r' })
      assert.equal(String(again), 'by d')
      assert.deepEqual(
        model.calls.map(({ lastMessage }) => /Task: (\w)/.exec(lastMessage)?.[1]),
        executed,
      )
      assert.equal((await crew.run('r').view()).status, 'failed')
    }
  })
})

describe('the result of a replay', () => {
  // 3
  test('is stored: the next replay sees it, and not the earlier output', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    const said = (word: string) => crewOf(store, ['a', 'b', 'c'], [{ when: 'Task: b', reply: word }])
    for (const [at, word] of ['old b', 'new b', 'newest b'].entries()) {
      await using crew = said(word).crew
      const result = at === 0 ? await crew.kickoff({ inputs }) : await crew.replay('b')
      assert.equal((await crew.run(result.runId).view()).task('b').raw, word)
    }
    const { crew, model } = said('never asked')
    await using _ = crew
    const last = await crew.replay('c')
    assert.equal(last.task('b').raw, 'newest b')
    assert.match(model.calls[0]?.lastMessage ?? '', /newest b/)
    assert.equal(model.calls.length, 1)
  })
})

describe('a task id', () => {
  // 4
  test('is the same in every process and works any number of times, after any number of replays', async () => {
    await using stage = await openStage('sqlite')
    const first = await stage.live({ act: 'kickoff', options: { inputs } })
    const task = first.ids?.['weigh'] ?? 'no id'
    for (let time = 0; time < 3; time++) {
      const again = await stage.live({ act: 'replay', task })
      assert.deepEqual(again.ids, first.ids)
      assert.deepEqual(again.asked, ['weigh', 'note'])
    }
  })
})

describe('kickoffForEach', () => {
  // 5
  test('leaves a run per input, each of which another process can replay with its inputs', async () => {
    await using stage = await openStage('sqlite')
    const list = ['fire', 'water', 'air'].map((topic) => ({ topic, reader: `reader of ${topic}` }))
    const { runs = [] } = await stage.live({ act: 'each', options: list })
    assert.equal(runs.length, 3)
    const before = await stage.bytes()
    for (const [at, run] of runs.entries()) {
      const again = await stage.live({ act: 'replay', task: 'note', options: { runId: run } })
      assert.deepEqual(again.asked, ['note'])
      await using crew = new Crew({ name: 'alpha', tasks: crewOf('memory:', ['gather']).crew.tasks, store: stage.url })
      assert.deepEqual((await crew.run(again.runId ?? '').view()).inputs, list[at])
    }
    const after = await stage.bytes()
    assert.equal(after.size, 6)
    for (const [run, bytes] of before) assert.equal(after.get(run), bytes)
  })
})

describe('two crews with equal tasks in one folder', () => {
  // 6
  for (const kind of ['sqlite', 'file'] as const) {
    test(`keep to their own runs on ${kind}, even if two processes execute them at the same time`, async () => {
      await using stage = await openStage(kind)
      const alpha = stage.start({ act: 'kickoff', crew: 'alpha', options: { inputs }, hold: 'weigh' })
      await alpha.held
      // begins and ends while the other is in the middle, so that its run is the latest of the folder
      const beta = await stage.live({ act: 'kickoff', crew: 'beta', options: { inputs } })
      alpha.goOn()
      const { runId } = await alpha.ended
      for (const [crew, run] of [
        ['alpha', runId],
        ['beta', beta.runId],
      ] as const) {
        const again = await stage.live({ act: 'replay', crew, task: 'note' })
        assert.equal(await stage.parentOf(again.runId), run)
        assert.equal(again.tasks?.['weigh'], `inherited: ${crew} weigh`)
        assert.equal(again.raw, `${crew} note`)
      }
      const stranger = await stage.live({ act: 'replay', crew: 'beta', task: 'note', options: { runId: runId } })
      assert.equal(stranger.code, 'RUN_NOT_FOUND')
      assert.match(stranger.message ?? '', /belongs to crew alpha/)
    })
  }
})

describe('a changed list of tasks', () => {
  // 7
  test('maps each output to the task that made it, and executes tasks without one', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    const old = crewOf(store, ['a', 'b', 'c', 'd'])
    await old.crew.kickoff({ id: 'r', inputs })
    await old.crew.close()
    // b is gone, x came in front, c and a changed places
    const { crew, model } = crewOf(store, ['x', 'c', 'a', 'd'])
    await using _ = crew
    const again = await crew.replay('d', { runId: 'r' })
    assert.deepEqual(
      again.tasks.map(({ name, status, raw }) => `${name} ${status} ${raw}`),
      ['x executed by x', 'c inherited by c', 'a inherited by a', 'd executed by d'],
    )
    assert.equal(model.calls.length, 2)
    // and says that they were made from other contexts
    assert.deepEqual(
      again.stale.map(({ task }) => task),
      ['c', 'a'],
    )
  })
})

describe('new inputs over outputs made from old ones', () => {
  // 8
  test('are reported with the task and the input in the result, the log and the plan; or refused; or executed', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    const warnings: string[] = []
    const logger: Logger = { info() {}, warn: (message) => void warnings.push(message) }
    const { crew, model } = crewOf(store, ['a', 'b'], [], logger)
    await using _ = crew
    await crew.kickoff({ id: 'r', inputs })
    const changed = { runId: 'r', inputs: { topic: 'fire' } }
    const planned = await crew.plan({ from: 'b', ...changed })
    assert.deepEqual(planned.tasks[0]?.reasons, ['its output is recorded', 'stale: input topic changed'])
    const kept = await crew.replay('b', changed)
    assert.deepEqual(
      kept.stale.map(({ task, reasons }) => `${task}: ${reasons.join()}`),
      ['a: input topic changed'],
    )
    const next = `execute what is stale or missing in a new run with crew.run('${kept.runId}').refresh()`
    assert.deepEqual(warnings, [`run ${kept.runId}: task a is stale: input topic changed; ${next}`])
    // still so when it is only read, or replayed again
    assert.equal((await crew.run(kept.runId).view()).stale.length, 1)
    assert.equal((await crew.replay('b')).stale.length, 1)
    const calls = model.calls.length
    await assert.rejects(crew.replay('b', { ...changed, stale: 'refuse' }), { code: 'OUTPUT_STALE', task: 'a' })
    assert.equal(model.calls.length, calls)
    const fresh = await crew.replay('b', { ...changed, stale: 'rerun' })
    assert.deepEqual(fresh.stale, [])
    assert.equal(model.calls.length, calls + 2)
  })
})

test('a run whose journal a person edited is replayed with the edits, and is not changed by the replay', async () => {
  await using folder = await temporaryFolder()
  const { crew, model } = crewOf(`file:${folder.path}`, ['a', 'b', 'c'])
  await using _ = crew
  await crew.kickoff({ id: 'r', inputs })
  const file = join(folder.path, 'r.jsonl')
  const edited = (await readFile(file, 'utf8')).replace('by a', 'said by hand')
  await writeFile(file, edited)
  const again = await crew.replay('c', { runId: 'r' })
  assert.equal(again.task('a').raw, 'said by hand')
  assert.match(model.calls.at(-1)?.lastMessage ?? '', /said by hand/)
  assert.deepEqual(
    again.stale.map(({ task, reasons }) => `${task}: ${reasons.join()}`),
    ['b: context a changed'],
  )
  assert.equal(await readFile(file, 'utf8'), edited)
  assert.ok((await readdir(folder.path)).includes(`${again.runId}.jsonl`))
})
