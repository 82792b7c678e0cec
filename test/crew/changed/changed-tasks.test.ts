// Crews whose tasks changed between two lives of a run: recorded work is continued or given up by a decision, or the
// resume is refused.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type CodeTaskOptions, type Effect, type TaskOptions } from 'reprise'
import { z } from 'zod'
import type { Entry } from '../../../src/journal/entries.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import type { Store } from '../../../src/stores/store.ts'
import { dieAt } from '../../crash/mortal.ts'
import { dyingStore, entriesOf, newStore, stateOf } from '../../engine/support.ts'

/**
 * A crew of `book`, which posts to a ledger once, and `note`; `of` changes what a later version of the code declares.
 */
interface Code {
  readonly book?: Partial<TaskOptions>
  readonly postName?: string
  readonly was?: string | string[]
  readonly effect?: Effect
  readonly approval?: boolean
  readonly tasks?: (made: { book: Task; note: Task; agent: Agent }) => Task[]
}

function ledger(store: Store = newStore()) {
  const posted: string[] = []
  const warnings: string[] = []
  const model = scriptedModel([
    { when: 'Task: Book', after: 0, calls: [{ tool: 'post', input: { amount: 5 } }] },
    { when: 'Task: Book', after: 1, reply: 'booked' },
    { when: 'Task: Pay', after: 0, calls: [{ tool: 'pay', input: { amount: 5 } }] },
    { when: 'Task: Pay', after: 1, reply: 'paid' },
    { when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} done` },
  ])
  const code = ({ book, postName = 'post', was, effect = 'once', approval = false, tasks }: Code = {}) => {
    const post = tool({
      name: postName,
      description: 'Post',
      input: z.object({ amount: z.number() }),
      effect,
      approval,
      ...(was === undefined ? {} : { was }),
      run: (_, { idempotencyKey }) => `posted ${posted.push(idempotencyKey)}`,
    })
    const agent = new Agent({ role: 'A', goal: 'g', model, tools: [post] })
    const made = {
      book: new Task({ name: 'book', description: 'Book it', agent, ...book }),
      note: new Task({ name: 'note', description: 'Note it', agent }),
      agent,
    }
    const logger = { info() {}, warn: (message: string) => void warnings.push(message) }
    return new Crew({ name: 'ledger', tasks: tasks?.(made) ?? [made.book, made.note], store, logger })
  }
  return { code, posted, model, store, warnings }
}

/** A run of today's code whose process died right after an entry of this type was written. */
async function diedAfter(stage: ReturnType<typeof ledger>, type: Entry['type'], options: Code = {}): Promise<void> {
  const dying = dyingStore(stage.store, (types) => types.includes(type))
  await assert.rejects(stage.code(options).with({ store: dying }).kickoff({ id: 'r' }), { code: 'STORE_FAILED' })
}

const renamed = { book: { name: 'post' } } as const

describe('a task renamed between two lives', () => {
  for (const type of ['tool.called', 'tool.returned', 'model.replied'] as const)
    test(`makes a resume after ${type} refuse, with the likeliest new name`, async () => {
      const stage = ledger()
      await diedAfter(stage, type)
      const before = stage.posted.length
      await assert.rejects(stage.code(renamed).resume('r'), {
        code: 'TASKS_CHANGED',
        runId: 'r',
        task: 'book',
        message:
          /crew ledger has no task for: book \(.*is it post now\?\).*resume\(\{ renamed: \{ book: 'post' \} \}\)/,
      })
      assert.equal(stage.posted.length, before, 'nothing was executed')
      assert.ok(
        (await entriesOf(stage.store, 'r')).every((entry) => entry.type !== 'run.resumed'),
        'or recorded',
      )
    })

  test('continues its record under the new name if the resume declares it', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    const result = await stage.code(renamed).resume('r', { renamed: { book: 'post' } })
    assert.equal(result.status, 'completed')
    assert.equal(result.task('post').raw, 'booked')
    assert.equal(stage.posted.length, 1)
    const resumed = (await entriesOf(stage.store, 'r')).find((entry) => entry.type === 'run.resumed')
    assert.deepEqual(resumed?.changes, { renamed: { book: 'post' } })
    // the same decision again changes nothing
    assert.equal((await stage.code(renamed).resume('r', { renamed: { book: 'post' } })).status, 'completed')
    assert.equal(stage.model.calls.length, 3)
  })

  test('continues its record if the code declares its old name', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    const result = await stage.code({ book: { name: 'post', was: 'book' } }).resume('r')
    assert.equal(result.task('post').raw, 'booked')
    assert.equal(stage.posted.length, 1)
    assert.match(stage.warnings.join('\n'), /renamed book to post/)
  })

  test('asks about its call in doubt under the new name', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.called')
    const code = stage.code({ book: { name: 'post', was: 'book' } })
    const suspended = await code.resume('r')
    assert.equal(suspended.status, 'suspended')
    const [question] = suspended.questions
    assert.equal(question?.kind, 'doubt')
    assert.equal(question?.asking[0]?.task, 'post')
    await code.run('r').answer(question?.id ?? '', { decision: 'happened', result: 'posted before' })
    assert.equal((await code.resume('r')).status, 'completed')
    assert.equal(stage.posted.length, 0)
  })

  test('may get its old name back, and swap names with another task', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    const code = stage.code(renamed)
    assert.equal((await code.resume('r', { renamed: { book: 'post' }, through: 'post' })).status, 'suspended')
    const swapped = stage.code({
      tasks: ({ agent }) => [
        new Task({ name: 'note', description: 'Book it', agent }),
        new Task({ name: 'post', description: 'Note it', agent }),
      ],
    })
    await assert.rejects(swapped.resume('r', { renamed: { post: 'note', note: 'elsewhere' } }), {
      code: 'OPTION_INVALID',
    })
    const result = await swapped.resume('r', { renamed: { post: 'note', note: 'post' } })
    assert.equal(result.task('note').raw, 'booked')
    assert.equal(stage.posted.length, 1)
    assert.equal((await stateOf(stage.store, 'r')).tasks.get('note')?.attempts.join(), 'book#1')
  })
})

test('an earlier name of a task that another task has or had is refused when the crew is created', () => {
  const { code } = ledger()
  assert.throws(() => code({ book: { was: 'note' } }), {
    code: 'CREW_INVALID',
    message: /task book has the earlier name note, which is now the name of a task/,
  })
  const twice = {
    tasks: ({ agent }: { agent: Agent }) =>
      ['a', 'b'].map((name) => new Task({ name, was: 'c', description: name, agent })),
  }
  assert.throws(() => code(twice), { code: 'CREW_INVALID', message: /tasks b and a have the same earlier name, c/ })
})

test('two orphaned tasks are not both suggested to be the same new task', async () => {
  const stage = ledger()
  const before = stage.code({
    tasks: ({ agent }) =>
      ['post', 'posts', 'end'].map((name) => new Task({ name, description: `Note ${name}`, agent })),
  })
  assert.equal((await before.kickoff({ id: 'r', through: 'posts' })).status, 'suspended')
  const now = stage.code({
    tasks: ({ agent }) => ['posted', 'end'].map((name) => new Task({ name, description: `Note ${name}`, agent })),
  })
  await assert.rejects(now.resume('r'), {
    next: { type: 'resume', runId: 'r', renamed: { post: 'posted' }, removed: ['posts'] },
  })
})

describe('a task removed between two lives', () => {
  const without = { tasks: ({ note }: { note: Task }) => [note] }

  test('makes a resume refuse, and name its record', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.called', { approval: false })
    await assert.rejects(stage.code(without).resume('r'), {
      code: 'TASKS_CHANGED',
      message: /book \(1 recorded step, 1 call that must not be repeated\).*removed: \['book'\]/,
    })
  })

  test('withdraws its questions and remains as a record if the resume declares it removed', async () => {
    const stage = ledger()
    assert.equal((await stage.code({ approval: true }).kickoff({ id: 'r' })).questions.length, 1)
    const code = stage.code(without)
    await assert.rejects(code.resume('r'), { code: 'TASKS_CHANGED', message: /1 open question/ })
    const result = await code.resume('r', { removed: ['book'] })
    assert.equal(result.status, 'completed')
    assert.equal(result.questions.length, 0)
    const view = await code.run('r').view()
    assert.deepEqual(
      view.taskChanges.map(({ removed }) => removed),
      [['book']],
    )
  })

  test('makes a resume refuse even if it was completed: under another name it would be paid again', async () => {
    const stage = ledger()
    await stage.code().kickoff({ id: 'r', through: 'book' })
    await assert.rejects(stage.code(renamed).resume('r'), { code: 'TASKS_CHANGED', message: /its output/ })
    assert.equal(stage.model.calls.length, 2)
  })

  test('makes a `once` call of a new task ask first', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    const split = {
      tasks: ({ agent, note }: { agent: Agent; note: Task }) => [
        new Task({ name: 'prepare', description: 'Prepare it', agent }),
        new Task({ name: 'settle', description: 'Book it again', agent }),
        note,
      ],
    }
    const result = await stage.code(split).resume('r', { removed: ['book'] })
    assert.equal(result.status, 'suspended')
    assert.match(result.questions[0]?.text ?? '', /post\({"amount":5}\) of task book at .*, which succeeded/)
    assert.equal(stage.posted.length, 1)
  })

  test('cannot be declared removed while the crew has it, or if the run does not', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    await assert.rejects(stage.code().resume('r', { removed: ['book'] }), {
      code: 'OPTION_INVALID',
      message: /invalidate/,
    })
    await assert.rejects(stage.code().resume('r', { removed: ['boko'] }), { code: 'OPTION_INVALID', message: /boko/ })
    await assert.rejects(stage.code().resume('r', { renamed: { boko: 'note' } }), { code: 'OPTION_INVALID' })
    assert.equal((await stage.code().resume('r')).status, 'completed')
  })
})

describe('a task whose kind changed', () => {
  test('does not continue the current attempt, and starts over only by a decision', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    let called = 0
    const run: CodeTaskOptions['run'] = () => `called ${++called}`
    const code = stage.code({ tasks: ({ note }) => [new Task({ name: 'book', run }), note] })
    await assert.rejects(code.resume('r'), {
      code: 'TASKS_CHANGED',
      message: /book \(.*; it was an agent task and is a function task now\)/,
    })
    const asked = await code.resume('r', { removed: ['book'] })
    assert.equal(asked.status, 'suspended', 'the call that was made may be the one of the function')
    await code.run('r').answer(asked.questions[0]?.id ?? '', { decision: 'use', result: 'posted' })
    assert.equal((await code.resume('r', { removed: ['book'] })).status, 'completed', 'and the command may be repeated')
    assert.equal(called, 0)
  })
})

test('a new task of another kind is not suggested, and what a refused decision suggests is accepted', async () => {
  const stage = ledger()
  await diedAfter(stage, 'tool.called')
  const code = stage.code({
    tasks: ({ note }) => [note, new Task({ name: 'books', effect: 'read', run: () => 'booked' })],
  })
  const next = { type: 'resume', runId: 'r', removed: ['book'] }
  await assert.rejects(code.resume('r'), { code: 'TASKS_CHANGED', next })
  await assert.rejects(code.resume('r', { renamed: { book: 'books' } }), { code: 'TASKS_CHANGED', next })
  assert.equal((await code.resume('r', { removed: next.removed })).status, 'completed')
})

describe('a tool changed between two lives:', () => {
  test('renamed, a new call asks, since it may be the recorded one', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    const code = stage.code({ postName: 'pay', book: { description: 'Pay it' } })
    const result = await code.resume('r', { changed: 'restart' })
    assert.equal(result.status, 'suspended')
    assert.match(result.questions[0]?.text ?? '', /May pay.* post\({"amount":5}\) of task book/)
    assert.equal(stage.posted.length, 1)
  })

  test('renamed after a person allowed its call in doubt, the person is asked again, and `was` makes the call', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.called')
    const [doubt] = (await stage.code().resume('r')).questions
    assert.equal(doubt?.kind, 'doubt')
    await stage
      .code()
      .run('r')
      .answer(doubt?.id ?? '', { decision: 'run' })
    const [question] = (await stage.code({ postName: 'pay' }).resume('r')).questions
    assert.equal(question?.kind, 'call')
    assert.match(
      question?.text ?? '',
      /The answer to q1 cannot be used: there is no tool post; available tools: pay\. May post/,
    )
    const before = stage.posted.length
    await stage
      .code()
      .run('r')
      .answer(question?.id ?? '', { decision: 'approve' })
    assert.equal((await stage.code({ postName: 'pay', was: 'post' }).resume('r')).status, 'completed')
    assert.equal(stage.posted.length, before + 1)
  })

  test('renamed after a person approved its call, the person is asked again, and `was` makes the call', async () => {
    const stage = ledger()
    const [question] = (await stage.code({ approval: true }).kickoff({ id: 'r' })).questions
    await stage
      .code({ approval: true })
      .run('r')
      .answer(question?.id ?? '', { decision: 'approve' })
    const renamedTool = await stage.code({ postName: 'pay', approval: true }).resume('r')
    assert.equal(renamedTool.status, 'suspended')
    assert.match(
      renamedTool.questions[0]?.text ?? '',
      /The answer to q1 cannot be used: there is no tool post; available tools: pay/,
    )
    const code = stage.code({ postName: 'pay', was: 'post', approval: true })
    await code.run('r').answer(renamedTool.questions[0]?.id ?? '', { decision: 'approve' })
    assert.equal((await code.resume('r')).status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('renamed with `was`, the recorded result is returned', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    const code = stage.code({ postName: 'pay', was: 'post', book: { description: 'Pay it' } })
    assert.equal((await code.resume('r', { changed: 'restart' })).status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('renamed with `was`, a continued conversation still reaches it', async () => {
    const stage = ledger()
    await diedAfter(stage, 'model.replied')
    assert.equal((await stage.code({ postName: 'pay', was: 'post' }).resume('r')).status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('relabelled `read` in a new task, it asks about the call that a person said had happened', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.called')
    const before = stage.posted.length
    const [doubt] = (await stage.code().resume('r')).questions
    await stage
      .code()
      .run('r')
      .answer(doubt?.id ?? '', { decision: 'happened', result: 'posted by hand' })
    const result = await stage.code({ ...renamed, effect: 'read' }).resume('r', { removed: ['book'] })
    assert.match(result.questions[0]?.text ?? '', /May post.* post\({"amount":5}\) of task book/)
    assert.equal(stage.posted.length, before)
  })

  for (const effect of ['read', 'idempotent'] as const)
    for (const changed of ['continue', 'restart'] as const)
      test(`relabelled ${effect}, a call in doubt asks (${changed})`, async () => {
        const stage = ledger()
        await diedAfter(stage, 'tool.called')
        const result = await stage.code({ effect }).resume('r', { changed })
        assert.equal(result.status, 'suspended')
        assert.equal(stage.posted.length, 0)
      })

  test('relabelled read, an equal call of a new attempt returns the recorded result', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned')
    const code = stage.code({ effect: 'read', book: { description: 'Book it, please' } })
    assert.equal((await code.resume('r', { changed: 'restart' })).status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('renamed with `was`, an idempotent call of a new attempt has the key of the recorded one', async () => {
    const stage = ledger()
    await diedAfter(stage, 'tool.returned', { effect: 'idempotent' })
    const code = stage.code({
      effect: 'idempotent',
      postName: 'pay',
      was: 'post',
      book: { name: 'settle', was: 'book', description: 'Pay it' },
    })
    assert.equal((await code.resume('r', { changed: 'restart' })).status, 'completed')
    assert.equal(stage.posted.length, 2)
    assert.equal(new Set(stage.posted).size, 1)
  })
})

describe('a worker', () => {
  test('parks a run with orphaned tasks and the reason, and continues it after a decision', async () => {
    const stage = ledger()
    await dieAt(stage.store, { at: 'after:5' }, (store) => stage.code().with({ store }).kickoff({ id: 'r' }))
    const code = stage.code(renamed)
    const [outcome] = await code.resumeAll()
    assert.equal(outcome?.status, 'waiting')
    const view = await code.run('r').view()
    assert.equal(view.status, 'stopped')
    assert.match(view.why ?? '', /book \(.*is it post now\?\)/)
    assert.deepEqual(
      view.orphaned.map(({ task, nearest }) => [task, nearest]),
      [['book', 'post']],
    )
    assert.deepEqual(await code.resumeAll(), [], 'no worker claims it again')
    assert.equal((await code.resume('r', { renamed: { book: 'post' } })).status, 'completed')
    assert.equal(stage.posted.length, 1)
  })
})

describe('a queued run whose crew has changed', () => {
  test('is executed with the current tasks, and reports what was added and removed', async () => {
    const stage = ledger()
    await stage.code().enqueue({ id: 'r' })
    const code = stage.code({
      tasks: ({ note, agent }) => [note, new Task({ name: 'audit', description: 'Audit it', agent })],
    })
    assert.deepEqual(
      (await code.resumeAll()).map(({ status }) => status),
      ['completed'],
    )
    const resumed = (await entriesOf(stage.store, 'r')).find((entry) => entry.type === 'run.resumed')
    assert.deepEqual(resumed?.changes, { added: ['audit'], removed: ['book'] })
    assert.match(stage.warnings.join('\n'), /added audit; removed book/)
  })

  test('is refused with changed: refuse', async () => {
    const stage = ledger()
    await stage.code().enqueue({ id: 'r' })
    await assert.rejects(stage.code(renamed).resume('r', { changed: 'refuse' }), {
      code: 'TASKS_CHANGED',
      message: /added post; removed book/,
    })
  })
})

describe('a changed nested crew', () => {
  const nest = (stage: ReturnType<typeof ledger>, options: Code = {}, outer: { name?: string; was?: string } = {}) => {
    const inner = stage.code(options)
    const work = new Task({ name: 'work', crew: inner, ...outer })
    return new Crew({ name: 'outer', tasks: [work], store: stage.store, logger: { info() {}, warn() {} } })
  }
  const dies = async (stage: ReturnType<typeof ledger>, type: Entry['type']) => {
    const dying = dyingStore(stage.store, (types) => types.includes(type))
    await assert.rejects(nest(stage).with({ store: dying }).kickoff({ id: 'r' }), { code: 'STORE_FAILED' })
  }

  test('with an orphaned task makes the resume of the outer run refuse before any write', async () => {
    const stage = ledger()
    await dies(stage, 'tool.returned')
    const outer = nest(stage, renamed)
    await assert.rejects(outer.resume('r'), {
      code: 'TASKS_CHANGED',
      message: /work\/book .*renamed: \{ 'work\/book': 'post' \}/,
    })
    assert.ok((await entriesOf(stage.store, 'r')).every((entry) => entry.type !== 'run.resumed'))
    assert.equal((await outer.resume('r', { renamed: { 'work/book': 'post' } })).status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('is continued under the new names of its outer task and of an inner task', async () => {
    const stage = ledger()
    await dies(stage, 'tool.returned')
    const outer = nest(stage, { book: { name: 'post', was: 'book' } }, { name: 'job', was: 'work' })
    const result = await outer.resume('r')
    assert.equal(result.status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('renamed with a task within: each refusal names a resume with the decisions given before', async () => {
    const stage = ledger()
    await dies(stage, 'tool.returned')
    const outer = nest(stage, renamed, { name: 'works' })
    await assert.rejects(outer.resume('r'), {
      next: { type: 'resume', runId: 'r', renamed: { work: 'works' } },
    })
    await assert.rejects(outer.resume('r', { renamed: { work: 'works' } }), {
      next: { type: 'resume', runId: 'r', renamed: { work: 'works', 'work/book': 'post' } },
    })
    const result = await outer.resume('r', { renamed: { work: 'works', 'work/book': 'post' } })
    assert.equal(result.status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('accepts a decision about its tasks again once it is completed, but no other decision', async () => {
    const stage = ledger()
    await dies(stage, 'tool.returned')
    const { tasks, store } = nest(stage, renamed)
    const end = new Task({ name: 'end', effect: 'read', run: () => 'over' })
    const outer = new Crew({
      name: 'outer',
      tasks: [...tasks, end],
      store: store as Store,
      logger: { info() {}, warn() {} },
    })
    const decided = { renamed: { 'work/book': 'post' } }
    assert.equal((await outer.resume('r', { ...decided, through: 'work' })).status, 'suspended')
    for (const unknown of ['work/boko', 'work/note', 'works/book'])
      await assert.rejects(outer.resume('r', { renamed: { [unknown]: 'post' } }), { code: 'OPTION_INVALID' })
    assert.equal((await outer.resume('r', decided)).status, 'completed')
    assert.equal(stage.posted.length, 1)
  })

  test('asks about each earlier call once, in a replay and after one of its tasks was removed', async () => {
    const asked = (result: { questions: readonly { text: string }[] }): number | undefined =>
      result.questions[0]?.text.match(/which succeeded/g)?.length
    const stage = ledger()
    await dies(stage, 'tool.returned')
    const outer = nest(stage, renamed)
    assert.equal(asked(await outer.resume('r', { removed: ['work/book'] })), 1)
    await nest(stage).kickoff({ id: 's' })
    assert.equal(asked(await outer.replay('work', { runId: 's' })), 1)
    assert.equal(stage.posted.length, 2)
  })

  test('of a removed task is cancelled with it, and its calls ask a person', async () => {
    const stage = ledger()
    await dies(stage, 'tool.returned')
    const flat = new Crew({
      name: 'outer',
      tasks: [
        ...stage.code({ tasks: ({ agent }) => [new Task({ name: 'again', description: 'Book it', agent })] }).tasks,
      ],
      store: stage.store,
      logger: { info() {}, warn() {} },
    })
    await assert.rejects(flat.resume('r'), {
      code: 'TASKS_CHANGED',
      message: /work \(2 recorded steps, 1 call that must not be repeated, run r\/work#1/,
    })
    const result = await flat.resume('r', { removed: ['work'] })
    assert.equal((await stateOf(stage.store, 'r/work#1')).status, 'cancelled')
    assert.equal(result.status, 'suspended')
    assert.match(result.questions[0]?.text ?? '', /of task work\/book/)
    assert.equal(stage.posted.length, 1)
  })
})
