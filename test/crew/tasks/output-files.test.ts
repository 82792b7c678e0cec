// Output files: where they may be written, when, and how often. Each test has its own working folder.
import assert from 'node:assert/strict'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type TaskOptions, type TaskView } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { dyingStore, entriesOf, newStore, refusal } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

/** The process works in a folder of its own until the end of the scope. */
async function workingFolder(): Promise<AsyncDisposable & { readonly path: string; readonly outside: string }> {
  const folder = await temporaryFolder()
  const before = process.cwd()
  const [path, outside] = [join(folder.path, 'work'), join(folder.path, 'outside')]
  mkdirSync(path)
  mkdirSync(outside)
  process.chdir(path)
  return {
    path,
    outside,
    async [Symbol.asyncDispose]() {
      process.chdir(before)
      await folder[Symbol.asyncDispose]()
    },
  }
}

function reporting(options: Partial<TaskOptions>, store: Store = newStore()) {
  const model = scriptedModel([
    { when: 'JSON that fits', reply: { title: 'Fire', pages: 2 } },
    { when: 'Task: Write', reply: (text) => `# On ${/Write on (\S+)/.exec(text)?.[1]}` },
    { when: 'Task: Sum', reply: 'short' },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const report = new Task({ name: 'report', description: 'Write on {topic}', agent, ...options })
  const sum = new Task({ name: 'sum', description: 'Sum up', agent })
  const crew = new Crew({ name: 'reports', tasks: [report, sum], store, logger: { info() {}, warn() {} } })
  return { crew, model, store }
}

const inputs = { topic: 'fire' }
const marksOf = async (store: Store, run: string) =>
  (await entriesOf(store, run)).flatMap((entry) => (entry.type === 'file.written' ? [entry] : []))

describe('an output file', () => {
  test('is written after the task, in new folders if needed, and the result has its path', async () => {
    await using folder = await workingFolder()
    const { crew, store } = reporting({ outputFile: 'reports/{topic}/all.md' })
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.equal(readFileSync(join(folder.path, 'reports/fire/all.md'), 'utf8'), '# On fire')
    assert.deepEqual(readdirSync(join(folder.path, 'reports/fire')), ['all.md'])
    assert.deepEqual(
      result.tasks.map((task) => task.outputFile),
      ['reports/fire/all.md', undefined],
    )
    assert.equal((await crew.run('r').view()).task('report').outputFile, 'reports/fire/all.md')
    const [mark] = await marksOf(store, 'r')
    assert.deepEqual([mark?.path, mark?.of, mark?.bytes], ['report', 4, 9])
  })

  test('replaces an older file, and holds readable JSON if the output has a schema', async () => {
    await using folder = await workingFolder()
    writeFileSync('out.json', 'an old text that will be much longer than the new one, by far')
    const { crew } = reporting({ outputFile: 'out.json', output: z.object({ title: z.string(), pages: z.number() }) })
    await crew.kickoff({ inputs })
    assert.equal(readFileSync(join(folder.path, 'out.json'), 'utf8'), '{\n  "title": "Fire",\n  "pages": 2\n}\n')
  })

  test('exists when the callbacks of its task are called', async () => {
    await using _ = await workingFolder()
    const seen: unknown[] = []
    const callback = ({ outputFile }: TaskView): unknown => seen.push(readFileSync(outputFile ?? '', 'utf8'))
    await reporting({ outputFile: 'out.md', callback }).crew.kickoff({ inputs })
    assert.deepEqual(seen, ['# On fire'])
  })

  test("of a function task holds the function's result", async () => {
    await using folder = await workingFolder()
    const load = new Task({ name: 'load', run: () => ({ n: 1 }), outputFile: 'data/{topic}.json' })
    await new Crew({ name: 'code', tasks: [load], store: newStore() }).kickoff({ inputs: { topic: 'fire' } })
    assert.equal(readFileSync(join(folder.path, 'data/fire.json'), 'utf8'), '{\n  "n": 1\n}\n')
  })

  test('is not written for an inherited task, nor by a backtest', async () => {
    await using folder = await workingFolder()
    const { crew } = reporting({ outputFile: 'out.md' })
    await crew.kickoff({ id: 'first', inputs })
    rmSync(join(folder.path, 'out.md'))
    const again = await crew.replay('sum', { runId: 'first' })
    assert.deepEqual([again.task('report').status, again.task('report').outputFile], ['inherited', undefined])
    const { cases } = await crew.backtest('report', { runs: ['first'] })
    assert.equal(cases[0]?.new?.raw, '# On fire')
    assert.equal(existsSync(join(folder.path, 'out.md')), false)
    await crew.replay('report', { runId: 'first' })
    assert.equal(existsSync(join(folder.path, 'out.md')), true)
  })

  test('is written by the resume if the process died between the completion and the write', async () => {
    await using folder = await workingFolder()
    const store = newStore()
    const dying = dyingStore(store, (types) => types.includes('task.completed'))
    await refusal(() => reporting({ outputFile: 'out.md' }, dying).crew.kickoff({ id: 'r', inputs }))
    assert.equal(existsSync(join(folder.path, 'out.md')), false)
    const { crew, model } = reporting({ outputFile: 'out.md' }, store)
    const result = await crew.resume('r')
    assert.equal(readFileSync(join(folder.path, 'out.md'), 'utf8'), '# On fire')
    assert.equal(result.task('report').outputFile, 'out.md')
    // the report was paid before
    assert.deepEqual(
      model.calls.map((call) => call.entry),
      [2],
    )
  })

  test('is written again after a crash before its mark is on disk, and not after a later one', async () => {
    for (const [behind, written] of [
      [false, true],
      [true, false],
    ]) {
      await using folder = await workingFolder()
      const store = newStore()
      const isMark = (types: readonly string[]): boolean => types.includes('file.written')
      const dying = behind ? dyingStore(store, isMark) : refusing(store, isMark)
      await refusal(() => reporting({ outputFile: 'out.md' }, dying).crew.kickoff({ id: 'r', inputs }))
      assert.equal(readFileSync(join(folder.path, 'out.md'), 'utf8'), '# On fire')
      rmSync(join(folder.path, 'out.md'))
      await reporting({ outputFile: 'out.md' }, store).crew.resume('r')
      assert.equal(existsSync(join(folder.path, 'out.md')), written)
      assert.equal((await marksOf(store, 'r')).length, 1)
    }
  })

  test('that cannot be written fails the run, and the resume writes it without a model call', async () => {
    await using folder = await workingFolder()
    const store = newStore()
    const spoil = (): void => writeFileSync(join(folder.path, 'reports'), 'in the way')
    const guardrails = (): true => (spoil(), true)
    const { code, task, message } = await refusal(() =>
      reporting({ outputFile: 'reports/out.md', guardrails }, store).crew.kickoff({ id: 'r', inputs }),
    )
    assert.deepEqual([code, task], ['OUTPUT_FILE_FAILED', 'report'])
    assert.match(
      message,
      /output file reports\/out\.md of task report needs a folder where there is a file, .*crew\.run\('r'\)\.resume\(\)/s,
    )
    rmSync(join(folder.path, 'reports'))
    const { crew, model } = reporting({ outputFile: 'reports/out.md', guardrails }, store)
    await crew.resume('r')
    assert.equal(readFileSync(join(folder.path, 'reports/out.md'), 'utf8'), '# On fire')
    assert.equal(model.calls.length, 1)
  })
})

describe('a path outside the working folder', () => {
  for (const [outputFile, says] of [
    ['../out.md', /leads upwards with \.\./],
    ['reports/../../out.md', /leads upwards/],
    ['reports\\..\\out.md', /leads upwards/],
    ['/tmp/out.md', /is absolute/],
    ['\\\\server\\out.md', /is absolute/],
    ['C:\\out.md', /is absolute/],
    ['~/out.md', /begins with ~/],
    ['out\0.md', /control character/],
    ['reports/', /names a folder/],
    ['.', /names a folder/],
    [`${'x'.repeat(201)}.md`, /more than 200 bytes/],
  ] as const) {
    test(`is refused when the task is made: ${JSON.stringify(outputFile.slice(0, 30))}`, async () => {
      const { code, message } = await refusal(() => new Task({ name: 't', description: 'd', outputFile }))
      assert.equal(code, 'OPTION_INVALID')
      assert.match(message, says)
    })
  }

  for (const topic of ['../../etc/passwd', '..', '/etc', 'a\0b', '~', 'x'.repeat(300)]) {
    test(`is refused before anything is spent: an input ${JSON.stringify(topic.slice(0, 20))}`, async () => {
      await using folder = await workingFolder()
      const { crew, model } = reporting({ outputFile: '{topic}/out.md' })
      const { code, message } = await refusal(() => crew.kickoff({ inputs: { topic } }))
      assert.equal(code, 'INPUT_INVALID')
      assert.match(message, /outputFile of task report, "\{topic\}\/out\.md", becomes/)
      assert.equal(model.calls.length, 0)
      assert.deepEqual((await crew.runs().page()).length, 0)
      assert.deepEqual(readdirSync(folder.path), [])
    })
  }

  test('is refused before anything is spent: a link along it, or in its place', async () => {
    await using folder = await workingFolder()
    symlinkSync(folder.outside, 'linked')
    writeFileSync(join(folder.outside, 'theirs.md'), 'theirs')
    symlinkSync(join(folder.outside, 'theirs.md'), 'mine.md')
    symlinkSync(join(folder.outside, 'nowhere.md'), 'dangling.md')
    for (const [outputFile, says] of [
      ['linked/out.md', /leads out of the working folder .* by a link to/],
      ['linked/deeper/out.md', /leads out of the working folder/],
      ['mine.md', /leads out of the working folder/],
      ['dangling.md', /has a link that leads nowhere/],
    ] as const) {
      const { crew, model } = reporting({ outputFile })
      const { code, message } = await refusal(() => crew.kickoff({ inputs }))
      assert.equal(code, 'OUTPUT_FILE_FAILED')
      assert.match(message, says)
      assert.equal(model.calls.length, 0)
    }
    assert.deepEqual(readdirSync(folder.outside), ['theirs.md'])
    assert.equal(readFileSync(join(folder.outside, 'theirs.md'), 'utf8'), 'theirs')
  })

  test('is refused when it is written: a link made after the run began', async () => {
    await using folder = await workingFolder()
    const guardrails = (): true => (symlinkSync(folder.outside, join(folder.path, 'reports')), true)
    const { crew } = reporting({ outputFile: 'reports/deep/out.md', guardrails })
    const { code, message } = await refusal(() => crew.kickoff({ inputs }))
    assert.equal(code, 'OUTPUT_FILE_FAILED')
    assert.match(message, /leads out of the working folder/)
    assert.deepEqual(readdirSync(folder.outside), [])
  })

  test('does not include a link to a place inside', async () => {
    await using folder = await workingFolder()
    mkdirSync('real')
    symlinkSync(join(folder.path, 'real'), 'linked')
    writeFileSync('real/old.md', 'old')
    symlinkSync('old.md', 'real/out.md')
    await reporting({ outputFile: 'linked/out.md' }).crew.kickoff({ inputs })
    assert.equal(readFileSync('real/old.md', 'utf8'), '# On fire')
    assert.ok(lstatSync('real/out.md').isSymbolicLink())
  })
})

test('two tasks that write one file are refused by name, however it is spelled, unless one is conditional', () => {
  const made = (second: string, when?: () => boolean) => {
    const task = (name: string, outputFile: string, options = {}) =>
      new Task({ name, description: name, outputFile, ...options })
    const agent = new Agent({ role: 'A', goal: 'g' })
    const tasks = [task('draft', 'out/{topic}.md'), task('final', second, when ? { when } : {})]
    return () => new Crew({ agents: [agent], tasks })
  }
  for (const same of ['out/{topic}.md', './out//{topic}.md', 'out\\{topic}.md']) {
    assert.throws(made(same), { code: 'CREW_INVALID', message: /tasks draft and final both write .*own outputFile/ })
  }
  made('out/{other}.md')()
  made('out/{topic}.md', () => true)()
})

test('createDirectory: false refuses a missing folder before anything is spent', async () => {
  await using _ = await workingFolder()
  const { crew, model } = reporting({ outputFile: 'reports/out.md', createDirectory: false })
  const { code, message } = await refusal(() => crew.kickoff({ inputs }))
  assert.equal(code, 'OUTPUT_FILE_FAILED')
  assert.match(message, /is in a folder that does not exist/)
  assert.equal(model.calls.length, 0)
  mkdirSync('reports')
  await crew.kickoff({ inputs })
  assert.equal(existsSync('reports/out.md'), true)
})

test('an input that only the path uses is required, and must not be an object', async () => {
  await using _ = await workingFolder()
  const { crew } = reporting({ outputFile: '{day}.md' })
  assert.match((await refusal(() => crew.kickoff({ inputs }))).message, /outputFile of task report uses \{day\}/)
  const { code } = await refusal(() => crew.kickoff({ inputs: { ...inputs, day: { d: 1 } } }))
  assert.equal(code, 'INPUT_INVALID')
  await crew.kickoff({ inputs: { ...inputs, day: 3 } })
  assert.equal(existsSync('3.md'), true)
})

test('markdown is requested in the prompt, and results depend on it', async () => {
  const store = newStore()
  const plain = reporting({}, store)
  await plain.crew.kickoff({ id: 'first', inputs })
  const formatted = reporting({ markdown: true }, store)
  const result = await formatted.crew.refresh({ runId: 'first' })
  assert.match(formatted.model.calls[0]?.lastMessage ?? '', /\n\nWrite the result as Markdown/)
  assert.deepEqual(result.plan?.[0]?.reasons, ['markdown added'])
  assert.doesNotMatch(plain.model.calls[0]?.lastMessage ?? '', /Markdown/)
})

/** Stands for a process that dies right before it writes such a batch. */
function refusing(inner: Store, dies: (types: readonly string[]) => boolean): Store {
  const typeOf = (bytes: Uint8Array): string => (JSON.parse(Buffer.from(bytes).toString()) as { type: string }).type
  return {
    ...inner,
    async append(lease, after, batch) {
      if (dies(batch.lines.map(({ bytes }) => typeOf(bytes)))) throw new Error('the process is dead')
      return inner.append(lease, after, batch)
    },
    release: async () => 0,
  }
}

describe('the output files of a task with forEach', () => {
  const pages = (items: readonly { id: string }[], store: Store): Crew => {
    const page = new Task({
      name: 'page',
      effect: 'read',
      forEach: () => items,
      key: ({ id }) => id,
      outputFile: 'pages/{item.id}.md',
      run: ({ item }) => `page ${item.id}`,
    })
    return new Crew({ name: 'pages', tasks: [page], store })
  }

  test('are one per item, named after the item', async () => {
    await using folder = await workingFolder()
    const result = await pages([{ id: 'a' }, { id: 'b' }], newStore()).kickoff()
    assert.equal(readFileSync(join(folder.path, 'pages/b.md'), 'utf8'), 'page b')
    assert.deepEqual(
      result.task('page').items?.map(({ outputFile }) => outputFile),
      ['pages/a.md', 'pages/b.md'],
    )
  })

  test('are refused before an item is executed if two items would write the same one', async () => {
    await using folder = await workingFolder()
    const same = new Task({
      name: 'page',
      effect: 'read',
      forEach: () => ['a', 'b'],
      outputFile: 'pages/{item.length}.md',
      run: ({ item }) => item,
    })
    const lengths = await refusal(() => new Crew({ name: 'pages', tasks: [same], store: newStore() }).kickoff())
    assert.match(lengths.message, /uses \{item\.length\}, but item page\[a\] has no such member/)
    const file = await refusal(() => pages([{ id: 'x/../y' }, { id: 'y' }], newStore()).kickoff())
    assert.equal(file.code, 'INPUT_INVALID')
    assert.ok(!existsSync(join(folder.path, 'pages')))
  })
})
