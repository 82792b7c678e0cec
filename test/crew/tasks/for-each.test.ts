// Tasks with `forEach`: executed once per item of a list, which the function returns when the task starts.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type CodeContext, type CrewOptions } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, entriesOf, newStore, orDeath, refusal, stateOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

type Chapter = { readonly id: string; readonly title: string }

const c1 = { id: 'c1', title: 'Fire' }
const c2 = { id: 'c2', title: 'Ice' }
const c3 = { id: 'c3', title: 'Rain' }

const outlined = z.object({ chapters: z.array(z.object({ id: z.string(), title: z.string() })) })

interface Scene extends Partial<Pick<CrewOptions, 'onTaskFailure' | 'concurrency' | 'process' | 'budget' | 'onTask'>> {
  readonly store?: Store
  readonly list?: readonly Chapter[]
  readonly script?: readonly ScriptEntry[]
  /** Items have no context: a chapter depends on its item and the inputs only. */
  readonly alone?: boolean
}

/** outline → chapter, for each chapter of the outline → sum. The reply to `Write Fire` is `Fire!`. */
function book({ store = newStore(), list = [c1, c2], script = [], alone = false, ...options }: Scene = {}) {
  const model = scriptedModel([
    ...script,
    { when: 'Task: Outline', reply: { chapters: list } },
    { when: 'Task: Write', reply: (text) => `${/Write (\w+)/.exec(text)?.[1]}!` },
    { when: 'Task: Sum', reply: (text) => `sum of ${/\[.*\]/.exec(text)?.[0]}` },
  ])
  const agent = new Agent({ role: 'Writer', goal: 'Write', model, maxRetries: 0 })
  const outline = new Task({ name: 'outline', description: 'Outline {topic}', agent, output: outlined })
  const chapter = new Task({
    name: 'chapter',
    description: 'Write {item.title} of {topic}',
    agent,
    context: alone ? [] : [outline],
    forEach: ({ outputs }) => outlined.parse(outputs['outline']).chapters,
    key: ({ id }) => id,
    retries: 0,
  })
  const sum = new Task({ name: 'sum', description: 'Sum', agent, context: [chapter] })
  const logger = { info() {}, warn() {} }
  const crew = new Crew({ name: 'book', tasks: [outline, chapter, sum], store, logger, ...options })
  const asked = (what = 'Task: Write', lines = 1): string[] =>
    model.calls
      .filter(({ lastMessage }) => lastMessage.startsWith(what))
      .map(({ lastMessage }) => lastMessage.split('\n').slice(0, lines).join('\n'))
  return { crew, store, model, asked }
}
const inputs = { topic: 'weather' }
const fails: ScriptEntry = { when: 'Write Ice', reply: '' }

interface Sends {
  readonly store?: Store
  readonly list?: readonly Chapter[]
  readonly effect?: 'read' | 'once'
  readonly key?: (item: Chapter) => string
  readonly run?: (context: CodeContext & { readonly item: Chapter }) => unknown
}

/** A crew of one function task, which sends each chapter of a list. */
function sends({ store = newStore(), list = [c1, c2, c3], effect = 'once', key, run }: Sends = {}) {
  const sent: string[] = []
  const send = new Task({
    name: 'send',
    effect,
    forEach: () => list,
    key: key ?? (({ id }) => id),
    run: (context) => {
      sent.push(context.item.title)
      return run?.(context) ?? `sent ${context.item.title}`
    },
  })
  const logger = { info() {}, warn() {} }
  return { crew: new Crew({ name: 'sends', tasks: [send], store, logger }), store, sent }
}

describe('a task with forEach', () => {
  test('a task with forEach is executed once per item, and lists the outputs in the order of the items', async () => {
    const { crew, asked } = book()
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Ice!'])
    assert.equal(result.task('chapter').raw, '["Fire!","Ice!"]')
    assert.deepEqual(asked(), ['Task: Write Fire of weather', 'Task: Write Ice of weather'])
    assert.equal(String(result), 'sum of ["Fire!","Ice!"]')
  })

  test('a task with forEach has its items in results, each with its own output, texts and usage', async () => {
    const { crew } = book()
    const result = await crew.kickoff({ id: 'r', inputs })
    const { items = [], usage } = result.task('chapter')
    assert.deepEqual(
      items.map(({ name, of, item, description, output, status }) => ({ name, of, item, description, output, status })),
      [
        {
          name: 'chapter[c1]',
          of: 'chapter',
          item: c1,
          description: 'Write Fire of weather',
          output: 'Fire!',
          status: 'executed',
        },
        {
          name: 'chapter[c2]',
          of: 'chapter',
          item: c2,
          description: 'Write Ice of weather',
          output: 'Ice!',
          status: 'executed',
        },
      ],
    )
    assert.equal(usage.calls, 2)
    assert.deepEqual(
      result.tasks.map(({ name }) => name),
      ['outline', 'chapter', 'sum'],
    )
    assert.equal(result.task('chapter[c2]').output, 'Ice!')
    const view = await crew.run('r').view()
    assert.deepEqual(
      view.tasks.map(({ name }) => name),
      ['outline', 'chapter', 'chapter[c1]', 'chapter[c2]', 'sum'],
    )
    assert.equal(view.task('chapter').items?.[1]?.output, 'Ice!')
    assert.deepEqual([view.done, view.total, view.raw], [5, 5, 'sum of ["Fire!","Ice!"]'])
  })

  test('a task with forEach has an empty output for an empty list, and calls no model', async () => {
    const { crew, asked } = book({ list: [] })
    const result = await crew.kickoff({ inputs })
    assert.deepEqual(result.task('chapter').output, [])
    assert.deepEqual([asked(), String(result)], [[], 'sum of []'])
  })

  test('a task with forEach is the output of its crew if it is the last task', async () => {
    const { crew } = sends({ effect: 'read' })
    const result = await crew.kickoff()
    assert.deepEqual(result.output, ['sent Fire', 'sent Ice', 'sent Rain'])
    assert.equal(String(result), '["sent Fire","sent Ice","sent Rain"]')
  })

  test('a function task with forEach receives the item, and outputs must fit the schema', async () => {
    const made = new Task({
      name: 'made',
      effect: 'read',
      forEach: () => ['2020-01-01', '2021-01-01'],
      output: z.object({ day: z.string().transform((day) => new Date(day)) }),
      run: ({ item }) => ({ day: item }),
    })
    const years = new Task({
      name: 'years',
      effect: 'read',
      context: [made],
      run: ({ outputs }) => outputs.made.map(({ day }) => day.getFullYear()),
    })
    const crew = new Crew({ name: 'days', tasks: [made, years], store: newStore() })
    const result = await crew.kickoff({ id: 'r' })
    assert.deepEqual(result.task('years').output, [2020, 2021])
    assert.deepEqual(result.task('made').output, [{ day: new Date('2020-01-01') }, { day: new Date('2021-01-01') }])
    const edited = await crew.fork({ outputs: { 'made[2021-01-01]': { day: '2030-01-01' } } })
    assert.deepEqual(edited.task('years').output, [2020, 2030])
    const error = await refusal(() => crew.fork({ outputs: { made: [{ day: 1 }] as never } }))
    assert.match(error.message, /does not fit the schema of task made: \[0\]: day/)
  })

  test('a nested crew with forEach is executed per item, with the inputs of the run and the item', async () => {
    const { crew: bookCrew, model } = book()
    const agent = new Agent({ role: 'Writer', goal: 'Write', model })
    const write = new Task({ name: 'write', description: 'Write {title} of {topic}', agent })
    const one = new Crew({ name: 'one', tasks: [write] })
    const outline = new Task({ name: 'outline', effect: 'read', run: () => [c1, c2] })
    const given = new Task({
      name: 'given',
      crew: one,
      context: [outline],
      forEach: ({ outputs }) => outputs.outline,
      key: ({ id }) => id,
      inputs: ({ item, inputs: own }) => ({ ...own, title: item.title }),
    })
    const look = new Task({ name: 'look', effect: 'read', run: ({ inputs: own }) => JSON.stringify(own) })
    const plain = new Crew({ name: 'plain', tasks: [look] })
    const shared = new Task({ name: 'shared', crew: plain, forEach: () => ['a', 'b'] })
    const { store } = bookCrew
    const crew = new Crew({ name: 'outer', tasks: [outline, given, shared], store: store as Store })
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.deepEqual(result.task('given').output, ['Fire!', 'Ice!'])
    assert.deepEqual(result.task('shared').output, ['{"topic":"weather","item":"a"}', '{"topic":"weather","item":"b"}'])
    assert.equal((await stateOf(store as Store, 'r/given[c1]#1')).crew, 'one')
  })

  test('a task with forEach requires no input `item`, in its own texts or in those of its nested crew', async () => {
    const agent = new Agent({ role: 'Writer', goal: 'Write' })
    const own = new Task({ name: 'own', description: 'Write {item} and {item.title}', agent, forEach: () => ['a'] })
    const inner = new Crew({
      name: 'inner',
      tasks: [new Task({ name: 'in', description: '{item} of {topic}', agent })],
    })
    const nested = new Task({ name: 'nested', crew: inner, forEach: () => ['a'] })
    assert.deepEqual(new Crew({ tasks: [own, nested] }).inputs, ['topic'])
    const plain = new Task({ name: 'plain', description: 'Write {item} and {item.title}', agent })
    assert.deepEqual(new Crew({ tasks: [plain] }).inputs, ['item'])
  })

  test('at most as many items are executed at once as the concurrency of the crew allows', async () => {
    for (const concurrency of [1, 2, 4]) {
      let now = 0
      let most = 0
      const busy = new Task({
        name: 'busy',
        effect: 'read',
        forEach: () => [1, 2, 3, 4, 5],
        run: async () => {
          most = Math.max(most, ++now)
          await new Promise((resolve) => setImmediate(resolve))
          now -= 1
        },
      })
      await new Crew({ name: 'busy', tasks: [busy], concurrency, store: newStore() }).kickoff()
      assert.equal(most, concurrency)
    }
  })

  test('a task with forEach is skipped with all of its items if its condition does not hold', async () => {
    const maybe = new Task({
      name: 'maybe',
      effect: 'read',
      forEach: () => [1],
      when: () => false,
      run: () => 'done',
    })
    const result = await new Crew({ name: 'maybe', tasks: [maybe], store: newStore() }).kickoff()
    assert.equal(result.task('maybe').status, 'skipped')
    assert.equal(result.task('maybe').output, undefined)
  })

  test('the callback of a task with forEach is called per item, and onTask for the items and the task', async () => {
    const called: unknown[] = []
    const all: string[] = []
    const page = new Task({
      name: 'page',
      effect: 'read',
      forEach: () => [c1, c2],
      key: ({ id }) => id,
      run: ({ item }) => item.title,
      callback: ({ name, output }) => void called.push([name, output]),
    })
    const crew = new Crew({
      name: 'pages',
      tasks: [page],
      store: newStore(),
      onTask: ({ name }) => void all.push(name),
    })
    await crew.kickoff()
    assert.deepEqual(called, [
      ['page[c1]', 'Fire'],
      ['page[c2]', 'Ice'],
    ])
    assert.deepEqual(all, ['page[c1]', 'page[c2]', 'page'])
  })
})

describe('a list of forEach', () => {
  const refused = async (list: unknown, key?: (item: never) => unknown) => {
    const { store, model } = book()
    const agent = new Agent({ role: 'Writer', goal: 'Write', model })
    const forEach = () => list as Chapter[]
    const task = new Task({ name: 'chapter', description: 'Write {item.title}', agent, forEach, key: key as never })
    const crew = new Crew({ name: 'refused', tasks: [task], store })
    const error = await refusal(() => crew.kickoff({ id: 'r' }))
    assert.deepEqual([error.task, model.calls.length], ['chapter', 0])
    const types = (await entriesOf(store, 'r')).map(({ type }) => type)
    assert.deepEqual(types, ['run.created', 'run.failed'])
    return error.message
  }

  test('a list with two items of the same key is refused by both positions before a model is called', async () => {
    const message = await refused([c1, c2, { ...c3, id: 'c1' }], ({ id }: Chapter) => id)
    assert.match(message, /forEach of task chapter returned two items with the key c1, list\[0\] and list\[2\]/)
  })

  test('a list that is too long, not a list, or not JSON is refused by name', async () => {
    const many = Array.from({ length: 1_001 }, (_, index) => `${index}`)
    assert.match(await refused(many), /forEach of task chapter returned 1001 items, more than the limit of 1000/)
    assert.match(await refused('c1'), /forEach of task chapter returned "c1"; it must return a list/)
    assert.match(await refused([{ at: 1n }], () => 'a'), /list\[0\]\.at is a bigint/)
  })

  test('a list with an item without a usable key is refused with the advice to give one', async () => {
    assert.match(await refused([c1]), /list\[0\], without a usable key: the item is .*; give key: \(item\) => …/)
    assert.match(await refused([c1], () => ''), /the key of an item of task chapter is ""/)
  })

  test('an item without a member that a text uses is refused with the names of both', async () => {
    const { crew, asked } = book({ list: [c1, { id: 'c2' } as Chapter] })
    const error = await refusal(() => crew.kickoff({ inputs }))
    assert.equal(error.code, 'OUTPUT_REFUSED')
    const { store, model } = book()
    const agent = new Agent({ role: 'Writer', goal: 'Write', model })
    const forEach = () => [c1, { id: 'c2' }]
    const task = new Task({ name: 'chapter', description: 'Write {item.title}', agent, forEach, key: ({ id }) => id })
    const lacking = await refusal(() => new Crew({ name: 'lacking', tasks: [task], store }).kickoff())
    assert.equal(lacking.code, 'INPUT_MISSING')
    assert.match(lacking.message, /uses \{item\.title\}, but item chapter\[c2\] has no such member; it has id/)
    assert.deepEqual([model.calls.length, asked()], [0, []])
  })

  test('a forEach that throws fails the task, with the thrown error as cause', async () => {
    const task = new Task({
      name: 'chapter',
      effect: 'read',
      forEach: (): string[] => {
        throw new Error('no outline')
      },
      run: ({ item }) => item,
    })
    const error = await refusal(() => new Crew({ name: 'thrown', tasks: [task], store: newStore() }).kickoff())
    assert.match(error.message, /forEach of task chapter threw: no outline/)
    assert.equal((error.cause as Error).message, 'no outline')
  })
})

describe('a task with forEach in a killed process', () => {
  test('a task with forEach repeats no recorded item, whenever the process ends', async () => {
    await atEveryAppend(async (dying) => {
      const store = newStore()
      const first = book({ store: dying(store), list: [c1, c2, c3], concurrency: 2 })
      await orDeath(first.crew.kickoff({ id: 'r', inputs }))
      const done = (await entriesOf(store, 'r')).filter(
        ({ type, path = '' }) => type === 'model.replied' && path.startsWith('chapter['),
      )
      const second = book({ store, list: [c1, c2, c3] })
      const result = await second.crew.kickoff({ id: 'r', inputs })
      assert.deepEqual(result.task('chapter').output, ['Fire!', 'Ice!', 'Rain!'])
      assert.equal(second.asked().length, 3 - done.length)
      const entries = await entriesOf(store, 'r')
      assert.equal(
        entries.filter(({ type, path }) => type === 'task.completed' && path?.startsWith('chapter#')).length,
        1,
      )
    })
  })

  test('items of a once task are not repeated after a kill: a person decides about an item in doubt', async () => {
    await atEveryAppend(async (dying) => {
      const store = newStore()
      const first = sends({ store: dying(store) })
      await orDeath(first.crew.kickoff({ id: 'r' }))
      const second = sends({ store })
      const onQuestion = ({ kind }: { readonly kind: string }) =>
        kind === 'doubt' ? { decision: 'happened' as const, result: 'said' } : undefined
      const result = await second.crew.kickoff({ id: 'r', onQuestion: onQuestion })
      assert.equal(result.status, 'completed')
      const all = [...first.sent, ...second.sent].toSorted()
      assert.deepEqual(all, [...new Set(all)])
    })
  })

  test('callbacks of items that a killed process did not call are called on resume', async () => {
    await atEveryAppend(async (dying) => {
      const store = newStore()
      const called = new Set<string>()
      const crewOf = (place: Store): Crew => {
        const task = new Task({
          name: 'page',
          effect: 'read',
          forEach: () => ['a', 'b'],
          run: ({ item }) => item,
          callback: ({ name }) => void called.add(name),
        })
        return new Crew({ name: 'pages', tasks: [task], store: place })
      }
      await orDeath(crewOf(dying(store)).kickoff({ id: 'r' }))
      await crewOf(store).kickoff({ id: 'r' })
      assert.deepEqual([...called].toSorted(), ['page[a]', 'page[b]'])
    })
  })
})

describe('a failed item', () => {
  test('a failed item fails the run under its name, and a resume executes no other item', async () => {
    const store = newStore()
    const error = await refusal(() =>
      book({ store, script: [fails], concurrency: 1 }).crew.kickoff({ id: 'r', inputs }),
    )
    assert.deepEqual([error.code, error.task], ['OUTPUT_REFUSED', 'chapter[c2]'])
    const { crew, asked } = book({ store })
    assert.deepEqual((await crew.plan({ of: 'resume', runId: 'r' })).execute, ['chapter', 'chapter[c2]', 'sum'])
    const result = await crew.resume('r')
    assert.deepEqual(asked(), ['Task: Write Ice of weather'])
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Ice!'])
  })

  test('with onTaskFailure: continue, a failed item is left out of the list, and named to later tasks', async () => {
    const store = newStore()
    const { crew, asked } = book({ store, script: [fails], list: [c1, c2, c3], onTaskFailure: 'continue' })
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Rain!'])
    assert.deepEqual(
      result.failures.map(({ task, skipped }) => [task, skipped]),
      [['chapter[c2]', []]],
    )
    assert.equal(result.task('sum').status, 'executed')
    assert.match(asked('Task: Sum', 4).join(), /there is no result of: chapter\[c2\]/)
    assert.equal(asked().length, 3)
    const fixed = book({ store, list: [c1, c2, c3], onTaskFailure: 'continue' })
    assert.deepEqual(fixed.crew.run('r') && (await fixed.crew.run('r').view()).stale, [])
    const retried = await fixed.crew.fork({ runId: 'r', retry: 'failed' })
    assert.deepEqual(fixed.asked(), ['Task: Write Ice of weather'])
    assert.deepEqual(retried.task('chapter').output, ['Fire!', 'Ice!', 'Rain!'])
    assert.equal(String(retried), 'sum of ["Fire!","Ice!","Rain!"]')
  })

  test('a task with forEach fails if all of its items have failed, instead of returning an empty list', async () => {
    const { crew } = book({ script: [{ when: 'Task: Write', reply: '' }], onTaskFailure: 'continue' })
    const result = await crew.kickoff({ inputs })
    assert.deepEqual(
      result.failures.map(({ task }) => task),
      ['chapter', 'chapter[c1]', 'chapter[c2]'],
    )
    assert.match(
      result.failures[0]?.error.message ?? '',
      /no item has an output: chapter\[c1\] and chapter\[c2\] failed/,
    )
    assert.equal(result.task('sum').status, 'skipped')
  })
})

describe('a replay of a task with forEach', () => {
  const played = async () => {
    const store = newStore()
    await book({ store }).crew.kickoff({ id: 'r', inputs })
    return book({ store, script: [{ when: 'Write Ice', reply: 'Snow!' }] })
  }

  test('a replay of an item executes that item and the tasks that depend on its task', async () => {
    const { crew, asked, model, store } = await played()
    const plan = await crew.plan({ runId: 'r', from: 'chapter[c2]' })
    assert.deepEqual(
      plan.tasks.map(({ task, action }) => [task, action]),
      [
        ['outline', 'inherit'],
        ['chapter', 'execute'],
        ['chapter[c1]', 'inherit'],
        ['chapter[c2]', 'execute'],
        ['sum', 'execute'],
      ],
    )
    const result = await crew.replay('chapter[c2]', { runId: 'r', id: 's' })
    assert.deepEqual(asked(), ['Task: Write Ice of weather'])
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Snow!'])
    assert.equal(String(result), 'sum of ["Fire!","Snow!"]')
    assert.equal(model.calls.length, 2)
    assert.equal((await stateOf(store, 's')).tasks.get('chapter[c1]')?.from?.run, 'r')
  })

  test('a replay of a task with forEach executes all items', async () => {
    const { crew, asked } = await played()
    const result = await crew.replay('chapter', { runId: 'r' })
    assert.deepEqual(asked(), ['Task: Write Fire of weather', 'Task: Write Ice of weather'])
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Snow!'])
  })

  test('a replay of a later task inherits the items, which can be replayed from the new run', async () => {
    const { crew, asked } = await played()
    const result = await crew.replay('sum', { runId: 'r', id: 's' })
    assert.deepEqual(asked(), [])
    assert.deepEqual(
      result.task('chapter').items?.map(({ name, output, status }) => [name, output, status]),
      [
        ['chapter[c1]', 'Fire!', 'inherited'],
        ['chapter[c2]', 'Ice!', 'inherited'],
      ],
    )
    const again = await crew.replay('chapter[c1]', { runId: 's' })
    assert.deepEqual(again.task('chapter').output, ['Fire!', 'Ice!'])
    assert.deepEqual(asked(), ['Task: Write Fire of weather'])
  })

  test('a replay of an unknown item is refused with the names of the items', async () => {
    const { crew } = await played()
    const error = await refusal(() => crew.replay('chapter[c9]', { runId: 'r' }))
    assert.equal(error.code, 'TASK_NOT_FOUND')
    assert.match(error.message, /run r has no item chapter\[c9\]; of task chapter, it has chapter\[c1\], chapter\[c2\]/)
    const through = await refusal(() => crew.kickoff({ inputs, through: 'chapter[c1]' }))
    assert.match(through.message, /through is chapter\[c1\], an item; give a task, such as chapter/)
    const backtest = await refusal(() => crew.backtest('chapter'))
    assert.match(backtest.message, /task chapter has forEach, so its items cannot be compared/)
  })

  test('a replay of an item killed at any append does not execute the other items', async () => {
    await atEveryAppend(async (dying) => {
      const { store } = await played()
      const script = [{ when: 'Write Ice', reply: 'Snow!' }]
      const first = book({ store: dying(store), script })
      await orDeath(first.crew.replay('chapter[c2]', { runId: 'r', id: 's' }))
      const second = book({ store, script })
      const result = await second.crew.replay('chapter[c2]', { runId: 'r', id: 's' })
      assert.equal(String(result), 'sum of ["Fire!","Snow!"]')
      assert.ok([...first.asked(), ...second.asked()].every((text) => text.includes('Ice')))
    })
  })
})

describe('an edit of a task with forEach', () => {
  /** A run that stopped after task chapter. */
  const stopped = async () => {
    const scene = book()
    await scene.crew.kickoff({ id: 'r', inputs, through: 'chapter' })
    return scene
  }

  test('an edit of an item changes the list, and executes no item', async () => {
    const { crew, asked } = await stopped()
    await crew.run('r').edit('chapter[c2]', 'Mine')
    const result = await crew.resume('r')
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Mine'])
    assert.equal(String(result), 'sum of ["Fire!","Mine"]')
    assert.equal(asked().length, 2)
    assert.equal(result.task('chapter[c2]').status, 'edited')
  })

  test('an edit of a task with forEach replaces the whole list and leaves it without items', async () => {
    const { crew } = await stopped()
    await crew.run('r').edit('chapter', ['Mine'])
    const result = await crew.resume('r')
    assert.deepEqual([result.task('chapter').output, result.task('chapter').items], [['Mine'], undefined])
    assert.equal(String(result), 'sum of ["Mine"]')
  })

  test('an edit that does not fit a list, or names an unknown item, is refused', async () => {
    const { crew } = await stopped()
    const misfit = await refusal(() => crew.run('r').edit('chapter', 'Mine' as never))
    assert.match(misfit.message, /does not fit the schema of task chapter: it is "Mine", not a list/)
    assert.equal((await refusal(() => crew.run('r').edit('chapter[c9]', 'x'))).code, 'TASK_NOT_FOUND')
  })

  test('an invalidated item is executed again, and all items if their task is invalidated', async () => {
    const { crew, asked } = await stopped()
    await crew.run('r').invalidate('chapter[c1]')
    await crew.resume('r', { through: 'chapter' })
    assert.deepEqual(asked().slice(2), ['Task: Write Fire of weather'])
    await crew.run('r').invalidate('chapter')
    const result = await crew.resume('r')
    assert.deepEqual(asked().slice(3), ['Task: Write Fire of weather', 'Task: Write Ice of weather'])
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Ice!'])
  })

  test('an edit of the source of a list adds, changes and removes items by their keys', async () => {
    const store = newStore()
    const script = [{ when: 'Write Rain', reply: '' }]
    await refusal(() => book({ store, list: [c1, c2, c3], script, concurrency: 1 }).crew.kickoff({ id: 'r', inputs }))
    const { crew, asked } = book({ store, concurrency: 1 })
    const chapters = [{ id: 'c4', title: 'Wind' }, { ...c2, title: 'Frost' }, c1]
    await crew.run('r').edit('outline', { chapters })
    const result = await crew.resume('r')
    assert.deepEqual(asked(), ['Task: Write Wind of weather', 'Task: Write Frost of weather'])
    assert.deepEqual(result.task('chapter').output, ['Wind!', 'Frost!', 'Fire!'])
    assert.deepEqual(
      result.task('chapter').items?.map(({ name }) => name),
      ['chapter[c4]', 'chapter[c2]', 'chapter[c1]'],
    )
    const left = (await stateOf(store, 'r')).tasks.get('chapter[c3]')
    assert.equal(left?.removed, true)
  })

  test('after an edit of the source, no item gets a result of another item, whenever the process ends', async () => {
    await atEveryAppend(async (dying) => {
      const store = newStore()
      await book({ store }).crew.kickoff({ id: 'r', inputs, through: 'chapter' })
      const chapters = [{ ...c1, title: 'Snow' }, c2]
      await book({ store }).crew.run('r').edit('outline', { chapters })
      await book({ store }).crew.run('r').invalidate('chapter[c2]')
      await orDeath(book({ store: dying(store) }).crew.resume('r'))
      const result = await book({ store }).crew.kickoff({ id: 'r', inputs })
      assert.deepEqual(result.task('chapter').output, ['Snow!', 'Ice!'])
    })
  })
})

describe('a fork with another list', () => {
  test('a fork with another list keeps items without context, and executes new and changed ones', async () => {
    const store = newStore()
    await book({ store, alone: true, list: [c1, c2] }).crew.kickoff({ id: 'r', inputs })
    const { crew, asked } = book({ store, alone: true })
    const chapters = [c3, { ...c2, title: 'Frost' }, c1]
    const plan = await crew.plan({ runId: 'r', outputs: { outline: { chapters } } })
    assert.deepEqual(plan.execute, ['chapter', 'sum'])
    const result = await crew.fork({ runId: 'r', id: 's', outputs: { outline: { chapters } } })
    assert.deepEqual(asked(), ['Task: Write Rain of weather', 'Task: Write Frost of weather'])
    assert.deepEqual(result.task('chapter').output, ['Rain!', 'Frost!', 'Fire!'])
    assert.equal(result.task('chapter[c1]').status, 'inherited')
  })

  test('a fork with another list executes all items if the changed output is their context', async () => {
    const store = newStore()
    await book({ store }).crew.kickoff({ id: 'r', inputs })
    const { crew, asked } = book({ store })
    await crew.fork({ runId: 'r', outputs: { outline: { chapters: [c1, c2, c3] } } })
    assert.equal(asked().length, 3)
  })

  test('a replay of the source of a list executes no item if the list comes out equal', async () => {
    const store = newStore()
    await book({ store }).crew.kickoff({ id: 'r', inputs })
    const { crew, model } = book({ store })
    const result = await crew.replay('outline', { runId: 'r', only: 'descendants' })
    assert.deepEqual(model.calls.length, 1)
    assert.equal(String(result), 'sum of ["Fire!","Ice!"]')
  })

  test('a fork never repeats a once call of an item under another key', async () => {
    const store = newStore()
    await sends({ store }).crew.kickoff({ id: 'r' })
    const { crew, sent } = sends({ store, key: ({ title }) => title })
    const result = await crew.replay('send', { runId: 'r', id: 's' })
    assert.equal(result.status, 'suspended')
    assert.deepEqual([result.questions.length, sent], [3, []])
    const other = sends({ store, list: [c1, { id: 'c4', title: 'Wind' }] })
    const added = await other.crew.replay('send', { runId: 'r' })
    assert.deepEqual([added.output, other.sent], [['sent Fire', 'sent Wind'], ['Wind']])
  })

  test('a kickoff with reuse finds stored outputs of items', async () => {
    const store = newStore()
    await book({ store, alone: true }).crew.kickoff({ inputs })
    const { crew, asked } = book({ store, alone: true, list: [c2, c3] })
    const result = await crew.kickoff({ inputs, reuse: true })
    // the stored outline is reused as well, and with it the list of the earlier run
    assert.deepEqual([asked(), result.task('chapter').output], [[], ['Fire!', 'Ice!']])
  })
})

describe('an item that waits for a person', () => {
  test('an item that waits for a person suspends the run after the other items, until the answer', async () => {
    const store = newStore()
    const reviewed = new Task({
      name: 'review',
      effect: 'read',
      humanInput: true,
      forEach: () => [c1, c2],
      key: ({ id }) => id,
      run: ({ item }) => item.title,
    })
    const reviews = new Crew({ name: 'reviews', tasks: [reviewed], store })
    const waiting = await reviews.kickoff({ id: 'w' })
    assert.equal(waiting.status, 'suspended')
    assert.deepEqual(
      waiting.questions.map(({ id, asking }) => [id, asking[0]?.task]),
      [
        ['q1', 'review[c1]'],
        ['q2', 'review[c2]'],
      ],
    )
    await reviews.run('w').answer('q2', { decision: 'replace', output: 'Frost' })
    const still = await reviews.resume('w')
    assert.equal(still.task('review[c2]').output, 'Frost')
    await reviews.run('w').answer('q1', { decision: 'approve' })
    const result = await reviews.resume('w')
    assert.deepEqual(result.output, ['Fire', 'Frost'])
  })

  test('an item that leaves the list loses its question', async () => {
    const store = newStore()
    let list = [c1, c2]
    const source = new Task({ name: 'source', effect: 'read', run: () => list })
    const reviewed = new Task({
      name: 'review',
      effect: 'read',
      humanInput: true,
      context: [source],
      forEach: ({ outputs }) => outputs.source,
      key: ({ id }) => id,
      run: ({ item }) => item.title,
    })
    const crew = new Crew({ name: 'reviews', tasks: [source, reviewed], store, logger: { info() {}, warn() {} } })
    await crew.kickoff({ id: 'w' })
    list = [c2]
    await crew.run('w').edit('source', list)
    const waiting = await crew.resume('w')
    assert.deepEqual(
      waiting.questions.map(({ id }) => id),
      ['q2'],
    )
    await crew.run('w').answer('q2', { decision: 'approve' })
    assert.deepEqual((await crew.resume('w')).output, ['Ice'])
  })

  test('a question of a nested crew with forEach has the name of the item in its id', async () => {
    const store = newStore()
    const ask = new Task({ name: 'ask', effect: 'read', humanInput: true, run: ({ inputs: own }) => own['item'] ?? '' })
    const inner = new Crew({ name: 'inner', tasks: [ask] })
    const each = new Task({ name: 'each', crew: inner, forEach: () => ['a', 'b'] })
    const crew = new Crew({ name: 'outer', tasks: [each], store })
    const waiting = await crew.kickoff({ id: 'w' })
    assert.deepEqual(
      waiting.questions.map(({ id }) => id),
      ['each[a]/q1', 'each[b]/q1'],
    )
    await crew.run('w').answer('each[a]/q1', { decision: 'approve' })
    await crew.run('w').answer('each[b]/q1', { decision: 'approve' })
    assert.deepEqual((await crew.resume('w')).output, ['a', 'b'])
  })
})

describe('a changed crew', () => {
  test('a changed crew continues the items of a renamed task', async () => {
    const store = newStore()
    const crewOf = (name: string, was: string[], list: string[]): Crew => {
      const task = new Task({ name, was, effect: 'read', forEach: () => list, run: ({ item }) => `${name} ${item}` })
      const stop = new Task({ name: 'stop', effect: 'read', run: () => 'x' })
      return new Crew({ name: 'renamed', tasks: [task, stop], store, logger: { info() {}, warn() {} } })
    }
    await crewOf('old', [], ['a', 'b']).kickoff({ id: 'r', through: 'old' })
    await crewOf('old', [], ['a', 'b']).run('r').invalidate('old[b]')
    const result = await crewOf('new', ['old'], ['a', 'b']).resume('r')
    assert.deepEqual(result.task('new').output, ['old a', 'new b'])
    assert.deepEqual(
      result.task('new').items?.map(({ name }) => name),
      ['new[a]', 'new[b]'],
    )
  })

  test('a changed crew finds the items of a completed run under the new name of their task, none stale', async () => {
    const store = newStore()
    const crewOf = (name: string, was: string[]): Crew => {
      const task = new Task({ name, was, effect: 'read', forEach: () => ['a', 'b'], run: ({ item }) => `${item}!` })
      return new Crew({ name: 'renamed', tasks: [task], store, logger: { info() {}, warn() {} } })
    }
    await crewOf('old', []).kickoff({ id: 'r' })
    const crew = crewOf('new', ['old'])
    const result = await crew.kickoff({ id: 'r' })
    assert.deepEqual(result.stale, [])
    assert.deepEqual(
      result.task('new').items?.map(({ name, raw }) => [name, raw]),
      [
        ['new[a]', 'a!'],
        ['new[b]', 'b!'],
      ],
    )
    const { tasks, stale } = await crew.run('r').view()
    assert.deepEqual(
      [tasks.map(({ name, of }) => [name, of]), stale],
      [
        [
          ['new', undefined],
          ['new[a]', 'new'],
          ['new[b]', 'new'],
        ],
        [],
      ],
    )
  })

  test('a crew without a task whose items have records is refused, and the error lists the records', async () => {
    const store = newStore()
    await refusal(() => book({ store, script: [fails], concurrency: 1 }).crew.kickoff({ id: 'r', inputs }))
    const other = new Crew({ name: 'book', tasks: [new Task({ name: 'other', run: () => 'x' })], store })
    const error = await refusal(() => other.resume('r'))
    assert.equal(error.code, 'TASKS_CHANGED')
    assert.match(error.message, /chapter \(the outputs of 1 item, 2 recorded steps/)
    assert.doesNotMatch(error.message, /chapter\[c1\]/)
  })

  test('a crew whose agent replaces the function of a task is refused while an item is in progress', async () => {
    const store = newStore()
    const reviewed = (run: boolean): Crew => {
      const common = { name: 'each', humanInput: true, forEach: () => ['a'] }
      const model = scriptedModel([{ when: 'Task:', reply: 'text' }])
      const agent = new Agent({ role: 'Writer', goal: 'Write', model })
      const task = run
        ? new Task({ ...common, effect: 'read', run: () => 'x' })
        : new Task({ ...common, description: 'Write {item}', agent })
      return new Crew({ name: 'kinds', tasks: [task], store })
    }
    await reviewed(true).kickoff({ id: 'k' })
    const error = await refusal(() => reviewed(false).resume('k'))
    assert.match(error.message, /each\[a\] \(.*it was a function task and is an agent task now/)
    const result = await reviewed(false).resume('k', { removed: ['each[a]'] })
    assert.deepEqual(
      result.questions.map(({ kind }) => kind),
      ['result'],
    )
  })

  test('a crew that adds or removes forEach of a task in progress is refused', async () => {
    const store = newStore()
    const crewOf = (each: boolean): Crew => {
      const common = { name: 'job', effect: 'read' as const, humanInput: true, run: () => 'x' }
      const task = each ? new Task({ ...common, forEach: () => ['a'] }) : new Task(common)
      return new Crew({ name: 'jobs', tasks: [task], store })
    }
    await crewOf(true).kickoff({ id: 'a' })
    assert.match(
      (await refusal(() => crewOf(false).resume('a'))).message,
      /it was a task with forEach and is a function task now/,
    )
    await crewOf(false).kickoff({ id: 'b' })
    assert.match(
      (await refusal(() => crewOf(true).resume('b'))).message,
      /it was a function task and is a task with forEach now/,
    )
    const removed = await crewOf(false).resume('a', { removed: ['job'] })
    assert.deepEqual(
      removed.questions.map(({ asking }) => asking[0]?.task),
      ['job'],
    )
  })
})

describe('new Task and new Crew with forEach', () => {
  const each = { forEach: () => ['a'], effect: 'read', run: () => 'x' } as const

  test('a task with forEach is refused if its items could have the name of another task', () => {
    const crewOf = (...names: string[]) =>
      new Crew({ tasks: names.map((name, at) => new Task(at === 0 ? { ...each, name } : { name, run: () => 'x' })) })
    assert.throws(() => crewOf('a', 'a[b]'), /task a has forEach, and a name that is also the beginning of task a\[b\]/)
    assert.throws(() => crewOf('a[b]'), /task a\[b\] has forEach, and a name that contains \[/)
  })

  test('a task with forEach and one output file for all items is refused, as is a key without forEach', () => {
    const crewOf = () => new Crew({ tasks: [new Task({ ...each, name: 'a', outputFile: 'a.md' })] })
    assert.throws(crewOf, /task a has forEach, but its outputFile is "a.md" for every item; use the item in it/)
    assert.throws(
      () => new Task({ name: 'a', run: () => 'x', key: () => 'x' } as never),
      /key of task "a" needs forEach/,
    )
  })
})

describe('items of a task', () => {
  test('items of an async task are executed beside later tasks, in sequential and parallel crews', async () => {
    for (const process of ['sequential', 'parallel'] as const) {
      const order: string[] = []
      const gate = Promise.withResolvers<void>()
      const source = new Task({ name: 'source', effect: 'read', run: () => ['a', 'b'] })
      const each = new Task({
        name: 'each',
        effect: 'read',
        async: true,
        context: [source],
        forEach: ({ outputs }) => outputs.source,
        run: async ({ item }) => {
          await gate.promise
          order.push(item)
          return item
        },
      })
      const beside = new Task({
        name: 'beside',
        effect: 'read',
        context: [source],
        run: () => {
          order.push('beside')
          gate.resolve()
        },
      })
      const last = new Task({
        name: 'last',
        effect: 'read',
        context: [each, beside],
        run: ({ outputs }) => outputs.each,
      })
      const crew = new Crew({ name: 'beside', tasks: [source, each, beside, last], process, store: newStore() })
      assert.deepEqual((await crew.kickoff()).output, ['a', 'b'])
      assert.equal(order[0], 'beside')
    }
  })

  test('items and their child runs are cancelled with their run', async () => {
    const store = newStore()
    const ask = new Task({ name: 'ask', effect: 'read', humanInput: true, run: () => 'x' })
    const each = new Task({ name: 'each', crew: new Crew({ name: 'inner', tasks: [ask] }), forEach: () => ['a', 'b'] })
    const crew = new Crew({ name: 'outer', tasks: [each], store })
    await crew.kickoff({ id: 'w' })
    await crew.run('w').cancel()
    for (const run of ['w', 'w/each[a]#1', 'w/each[b]#1']) assert.equal((await stateOf(store, run)).status, 'cancelled')
    await crew.run('w').delete()
    assert.equal(await store.row('w/each[b]#1'), undefined)
  })

  test('items are exported and imported with their run', async () => {
    await using folder = await temporaryFolder()
    const file = join(folder.path, 'r.jsonl')
    const { crew } = book()
    await crew.kickoff({ id: 'r', inputs })
    await crew.run('r').export(file)
    const copy = book()
    await copy.crew.import(file)
    assert.deepEqual((await copy.crew.run('r').view()).tasks, (await crew.run('r').view()).tasks)
    const result = await copy.crew.replay('chapter[c1]', { runId: 'r' })
    assert.deepEqual(result.task('chapter').output, ['Fire!', 'Ice!'])
    assert.equal(copy.asked().length, 1)
  })

  test('items count for the budget of the run', async () => {
    const { crew, asked } = book({ list: [c1, c2, c3], concurrency: 1, budget: { tokens: 1 } })
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.deepEqual(
      result.questions.map(({ kind }) => kind),
      ['limit'],
    )
    assert.deepEqual(asked(), [])
    const usage = (await crew.resume('r', { budget: { tokens: 1_000_000 } })).usage.spent
    assert.equal(usage.calls, 5)
  })

  test('items have estimates of their own in plans, beside those of their task', async () => {
    const { crew } = book()
    await crew.kickoff({ id: 'r', inputs })
    const { tasks } = await crew.plan({ runId: 'r', from: 'chapter[c2]' })
    assert.deepEqual(
      tasks.flatMap(({ task, estimate }) => (estimate ? [[task, estimate.usage.calls]] : [])),
      [
        ['chapter', 0],
        ['chapter[c2]', 1],
        ['sum', 1],
      ],
    )
    const whole = await crew.plan({ runId: 'r', from: 'chapter' })
    assert.equal(whole.tasks.find(({ task }) => task === 'chapter')?.estimate?.usage.calls, 2)
  })

  test('a thousand items take about two entries each', async () => {
    const list = Array.from({ length: 1_000 }, (_, index) => ({ id: `i${index}`, title: `Title ${index}` }))
    const { crew, sent } = sends({ list, effect: 'read' })
    const result = await crew.kickoff({ id: 'r' })
    assert.deepEqual([sent.length, (result.output as unknown[]).length], [1_000, 1_000])
    const { seq } = await stateOf(crew.store as Store, 'r')
    assert.ok(seq < 2_010, `${seq} entries`)
  })
})

describe('a journal edited by hand', () => {
  test('a run with items completes with the same list after any line of its journal was removed by hand', async () => {
    await using folder = await temporaryFolder()
    const original = book({ store: `file:${folder.path}` as never })
    const { raw } = await original.crew.kickoff({ id: 'r', inputs })
    await original.crew.close()
    const file = join(folder.path, 'r.jsonl')
    const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
    for (let removed = 1; removed < lines.length; removed++) {
      await writeFile(file, `${lines.filter((_, index) => index !== removed).join('\n')}\n`)
      const { crew, asked } = book({ store: `file:${folder.path}` as never })
      const result = await crew.kickoff({ id: 'r', inputs })
      assert.deepEqual([result.status, result.raw], ['completed', raw], `without ${lines[removed]?.slice(0, 80)}`)
      assert.ok(asked().length <= 1, `without ${lines[removed]?.slice(0, 80)}: ${asked().join(', ')}`)
      await crew.close()
    }
  })
})
