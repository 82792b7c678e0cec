// Tasks that are executed only if a condition holds.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, type ConditionContext } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { dyingStore, entriesOf } from '../../engine/support.ts'
import type { Condition } from '../../../src/engine/definition.ts'

function conditional(when: Condition, { store = memoryStore(), amount = 7 } = {}) {
  const model = scriptedModel([
    { when: 'Task: Amount', reply: { amount, day: '2020-01-01' } },
    { when: 'Task: Check', reply: 'checked' },
    { when: 'Task: Note', reply: (text) => (text.includes('checked') ? 'after a check' : 'without a check') },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const output = z.object({ amount: z.number(), day: z.string().transform((day) => new Date(day)) })
  const first = new Task({ name: 'amount', description: 'Amount of {claim}', agent, output })
  const check = new Task({ name: 'check', description: 'Check', agent, when })
  const note = new Task({ name: 'note', description: 'Note', agent })
  const crew = new Crew({ name: 'conditional', tasks: [first, check, note], store, logger: { info() {}, warn() {} } })
  return { crew, model, store }
}
const inputs = { claim: 'C-1' }
const large: Condition = ({ outputs }) => (outputs['amount'] as { amount: number }).amount > 100

const of =
  (kind: string): Condition =>
  ({ inputs: given }) =>
    given['kind'] === kind

/** Three tasks, each executed for one kind of inputs, with outputs of different schemas. */
function routes(): [Task, Task, Task] {
  const shout = z.object({ text: z.string().transform((text) => text.toUpperCase()) })
  const plain = z.object({ text: z.string() })
  return [
    new Task({ name: 'blog', effect: 'read', when: of('blog'), output: shout, run: () => ({ text: 'a blog' }) }),
    new Task({ name: 'post', effect: 'read', when: of('post'), run: () => 'a post' }),
    new Task({ name: 'news', effect: 'read', when: of('news'), output: plain, run: () => ({ text: 'news' }) }),
  ]
}

describe('a task with a condition', () => {
  test('sees the inputs and the earlier outputs, parsed by their schemas', async () => {
    const seen: Omit<ConditionContext, 'readFile'>[] = []
    const { crew } = conditional(({ readFile, ...soFar }) => seen.push(soFar) > 0 && typeof readFile === 'function')
    await crew.kickoff({ inputs })
    const amount = { amount: 7, day: new Date('2020-01-01') }
    assert.deepEqual(seen, [{ inputs, outputs: { amount }, previous: amount, missing: [] }])
  })

  test('is recorded as skipped if it does not hold, and adds nothing to later contexts', async () => {
    const { crew, store, model } = conditional(large)
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.equal(result.task('check').status, 'skipped')
    assert.equal(result.task('check').raw, '')
    assert.equal(String(result), 'without a check')
    assert.equal(model.calls.length, 2)
    const skipped = (await entriesOf(store, 'r')).find((entry) => entry.type === 'task.skipped')
    assert.equal(skipped?.reason, 'its condition does not hold')
  })

  test('is decided once: not again after a crash, whether skipped or started', async () => {
    for (const [holds, type] of [
      [true, 'task.started'],
      [false, 'task.skipped'],
    ] as const) {
      let asked = 0
      const count: Condition = () => {
        asked++
        return holds
      }
      const { crew, store } = conditional(count)
      let paths = 0
      const dying = dyingStore(store, (types) => types.includes(type) && ++paths === (holds ? 2 : 1))
      await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r', inputs }))
      assert.equal((await crew.resume('r')).task('check').status, holds ? 'executed' : 'skipped')
      assert.equal(asked, 1)
    }
  })

  test('fails the run, which can be resumed, if the condition throws or returns no boolean', async () => {
    const { crew, store } = conditional(() => {
      throw new Error('no idea')
    })
    await assert.rejects(crew.kickoff({ id: 'r', inputs }), {
      code: 'TASK_FAILED',
      task: 'check',
      message: /the condition of task check threw: no idea; .*crew\.run\('r'\)\.resume\(\)/,
    })
    const vague = conditional((() => 'maybe') as never, { store })
    await assert.rejects(vague.crew.resume('r'), { message: /returned "maybe"; it must return true or false/ })
    assert.equal(String(await conditional(large, { store }).crew.resume('r')), 'without a check')
  })

  test("is refused if the condition isn't a function", () => {
    const agent = new Agent({ role: 'A', goal: 'g' })
    assert.throws(() => new Task({ description: 'One', agent, when: 'yes' as never }), { code: 'OPTION_INVALID' })
  })

  test('may be the first task, which decides by the inputs', async () => {
    const crew = new Crew({ name: 'first', tasks: routes(), store: memoryStore() })
    const asked = await crew.kickoff({ id: 'blog', inputs: { kind: 'blog' } })
    assert.deepEqual(
      asked.tasks.map(({ status }) => status),
      ['executed', 'skipped', 'skipped'],
    )
    const plan = await crew.plan({ of: 'kickoff', inputs: { kind: 'post' } })
    assert.match(plan.tasks[0]?.reasons[0] ?? '', /condition is evaluated when/)
    // asked again, since the input that it saw is another
    const forked = await crew.fork({ runId: 'blog', inputs: { kind: 'post' } })
    assert.deepEqual(
      forked.tasks.map(({ status }) => status),
      ['skipped', 'executed', 'skipped'],
    )
  })

  test('is decided again by a refresh, and stays skipped in a replay of a later task', async () => {
    const { crew, store } = conditional(large)
    await crew.kickoff({ inputs })
    const replayed = await crew.replay('note')
    assert.equal(replayed.task('check').status, 'skipped')
    const { crew: later } = conditional(() => true, { store })
    assert.equal(String(await later.replay('note', { runId: replayed.runId })), 'without a check')
    const fresh = await later.refresh()
    assert.equal(fresh.task('check').status, 'executed')
    assert.equal(String(fresh), 'after a check')
  })

  test('is decided again if a change reaches what it sees, beyond the task’s own context too', async () => {
    const { crew, store } = conditional(large)
    await crew.kickoff({ id: 'first', inputs })
    const now = conditional(large, { store, amount: 700 }).crew
    assert.equal((await now.replay('amount', { runId: 'first', only: 'descendants' })).task('check').status, 'executed')
    const given = await crew.fork({
      runId: 'first',
      from: 'note',
      outputs: { amount: { amount: 700, day: '2020-01-01' } },
    })
    assert.equal(String(given), 'after a check')
    // an input that no text uses
    const vip = conditional(({ inputs: all }) => all['vip'] === true).crew
    await vip.kickoff({ inputs: { ...inputs, vip: true } as never })
    const plain = await vip.fork({ inputs: { vip: false } as never })
    assert.equal(plain.task('check').status, 'skipped')
    assert.equal(String(plain), 'without a check')
  })

  test('is decided again if other tasks precede it than before', async () => {
    const model = scriptedModel([{ when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]}` }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const store = memoryStore()
    const task = (name: string, options = {}) => new Task({ name, description: name, agent, context: [], ...options })
    const first = task('first')
    const second = task('second')
    const third = task('third', { when: ({ outputs }: ConditionContext) => outputs['second'] !== undefined })
    const crewOf = (tasks: Task[]) => new Crew({ name: 'moved', tasks, store })
    assert.equal((await crewOf([first, second, third]).kickoff()).task('third').status, 'executed')
    const moved = await crewOf([first, third, second]).refresh()
    assert.equal(moved.task('third').status, 'skipped')
    assert.equal(model.calls.length, 3)
  })

  test('is decided again by a refresh if the replay before kept its decision about other inputs, or an edit came later', async () => {
    const { crew } = conditional(({ inputs: all }) => all['vip'] === true)
    await crew.kickoff({ inputs: { ...inputs, vip: true } as never })
    const kept = await crew.replay('note', { inputs: { vip: false } as never })
    assert.equal(kept.task('check').status, 'inherited')
    assert.equal((await crew.refresh()).task('check').status, 'skipped')

    const edited = conditional(({ outputs }) => (outputs['amount'] as { amount: number }).amount > 5).crew
    await edited.kickoff({ id: 'edited', inputs, through: 'check' })
    await edited.run('edited').edit('amount', { amount: 1, day: '2020-01-01' })
    assert.equal((await edited.resume('edited')).task('check').status, 'executed')
    assert.equal((await edited.refresh()).task('check').status, 'skipped')
  })

  test('that a replay left as decided is reported as stale, and decided again by a refresh of that', async () => {
    const vip: Condition = ({ inputs: all }) => all['vip'] === true
    for (const [was, now, status] of [
      [true, false, 'skipped'],
      [false, true, 'executed'],
    ] as const) {
      const { crew } = conditional(vip)
      await crew.kickoff({ inputs: { ...inputs, vip: was } as never })
      const replayed = await crew.replay('note', { inputs: { vip: now } as never })
      assert.deepEqual(replayed.stale, [
        { task: 'check', fields: ['condition input:vip'], reasons: ['condition input vip changed'] },
      ])
      assert.equal(replayed.task('check').status, was ? 'inherited' : 'skipped')
      const refreshed = await crew.refresh()
      assert.equal(refreshed.task('check').status, status)
      assert.deepEqual(refreshed.stale, [])
    }
  })

  test('that saw a value which a person has changed since is reported as stale', async () => {
    const { crew } = conditional(large, { amount: 700 })
    await crew.kickoff({ id: 'r', inputs, through: 'check' })
    await crew.run('r').edit('amount', { amount: 1, day: '2020-01-01' })
    const { stale } = await crew.resume('r')
    assert.deepEqual(
      stale.map(({ task, fields }) => [task, fields]),
      [['check', ['context:amount', 'condition context:amount']]],
    )
  })

  test('is decided again if the output right before it changed, and keeps its output if it holds', async () => {
    const model = scriptedModel([{ when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]}` }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const store = memoryStore()
    const task = (name: string, options = {}) => new Task({ name, description: name, agent, context: [], ...options })
    const [first, second] = [task('first'), task('second')]
    const crewOf = (tasks: Task[], held: readonly string[]) => {
      const when = ({ previous }: ConditionContext) => held.includes(String(previous))
      return new Crew({ name: 'moved', tasks: [...tasks, task('third', { when })], store })
    }
    await crewOf([first, second], ['second']).kickoff({ id: 'r' })
    const kept = await crewOf([second, first], ['first', 'second']).refresh({ runId: 'r' })
    assert.equal(kept.task('third').status, 'inherited')
    assert.deepEqual((await crewOf([second, first], ['first', 'second']).plan()).execute, [])
    const turned = await crewOf([second, first], ['second']).refresh({ runId: 'r' })
    assert.equal(turned.task('third').status, 'skipped')
    assert.equal(model.calls.length, 3)
  })

  test('is planned as possibly skipped, even if outputs are reused', async () => {
    const { crew, model } = conditional(large)
    await crew.kickoff({ inputs })
    const plan = await crew.plan({ of: 'kickoff', inputs, reuse: true })
    assert.deepEqual(plan.execute, ['check', 'note'])
    const calls = model.calls.length
    await crew.kickoff({ inputs, reuse: true })
    assert.equal(model.calls.length, calls)
  })

  test('that no longer holds removes its output from later contexts', async () => {
    const { crew, store } = conditional(() => true)
    assert.equal(String(await crew.kickoff({ inputs })), 'after a check')
    const fresh = await conditional(() => false, { store }).crew.replay('check')
    assert.equal(fresh.task('check').raw, '')
    assert.equal(String(fresh), 'without a check')
  })
})

describe('a crew whose last task was skipped', () => {
  const kickoff = (kind: string, options: { store?: Store } = {}) =>
    new Crew({ name: 'routes', tasks: routes(), store: memoryStore(), ...options }).kickoff({
      id: 'r',
      inputs: { kind },
    })

  test('has the result of the last executed task, in the call, the view, the callback and the stored run', async () => {
    const store = memoryStore()
    const told: unknown[] = []
    const afterKickoff = ({ output }: { readonly output: unknown }): void => void told.push(output)
    const crew = new Crew({ name: 'routes', tasks: routes(), store, afterKickoff })
    const inputsOf = (kind: string) => ({ id: kind, inputs: { kind } as never })
    const blog = await crew.kickoff(inputsOf('blog'))
    assert.equal(blog.raw, '{"text":"a blog"}')
    assert.equal(String(blog), blog.raw)
    assert.deepEqual(blog.output, { text: 'A BLOG' })
    assert.equal(String(await crew.kickoff(inputsOf('post'))), 'a post')
    assert.deepEqual(told, [{ text: 'A BLOG' }, 'a post'])
    assert.deepEqual((await crew.run('blog').result()).output, { text: 'A BLOG' })
    const { raw, output } = await crew.run('blog').view()
    assert.deepEqual({ raw, output }, { raw: blog.raw, output: blog.output })
  })

  test('completes without a result if all of its tasks were skipped', async () => {
    const result = await kickoff('none')
    assert.deepEqual(
      { status: result.status, raw: result.raw, output: result.output, text: String(result) },
      { status: 'completed', raw: '', output: undefined, text: '' },
    )
  })

  const outer = (store: Store, end: (given: unknown) => void) => {
    const inner = new Crew({ name: 'routes', tasks: routes(), logger: { info() {}, warn() {} } })
    const middle = new Crew({
      name: 'middle',
      tasks: [new Task({ name: 'routes', crew: inner }), new Task({ name: 'never', run: () => 1, when: () => false })],
    })
    const route = new Task({ name: 'route', crew: middle })
    const use = new Task({
      name: 'use',
      effect: 'read',
      context: [route],
      run({ outputs }) {
        end(outputs.route)
        return 'used'
      },
    })
    return new Crew({ name: 'outer', tasks: [route, use], store })
  }

  test('passes that result to the outer task, parsed by the schema of the task that made it', async () => {
    const store = memoryStore()
    const seen: unknown[] = []
    const crew = outer(store, (given) => seen.push(given))
    const result = await crew.kickoff({ id: 'blog', inputs: { kind: 'blog' } })
    // the schema of the last task fits as well, and would leave the text as it is
    assert.deepEqual(result.task('route').output, { text: 'A BLOG' })
    await crew.kickoff({ id: 'post', inputs: { kind: 'post' } })
    await crew.kickoff({ id: 'news', inputs: { kind: 'news' } })
    assert.deepEqual(seen, [{ text: 'A BLOG' }, 'a post', { text: 'news' }])
    // inherited, and inherited from that
    const replayed = await crew.replay('use', { runId: 'blog', id: 'again' })
    const once = await crew.replay('use', { runId: replayed.runId })
    assert.deepEqual(
      [replayed, once].map((one) => one.task('route').output),
      [{ text: 'A BLOG' }, { text: 'A BLOG' }],
    )
    assert.deepEqual(seen.slice(3), [{ text: 'A BLOG' }, { text: 'A BLOG' }])
    assert.deepEqual(
      (await crew.plan({ of: 'fork', runId: 'post' })).tasks.map(({ action }) => action),
      ['inherit', 'inherit'],
    )
  })

  test('is a skipped task if all tasks of the crew were skipped', async () => {
    const store = memoryStore()
    const seen: unknown[] = []
    const crew = outer(store, (given) => seen.push(given))
    const result = await crew.kickoff({ id: 'r', inputs: { kind: 'none' } })
    assert.equal(result.task('route').status, 'skipped')
    assert.equal(result.raw, 'used')
    assert.deepEqual(seen, [undefined])
    const skipped = (await entriesOf(store, 'r')).find(({ type }) => type === 'task.skipped')
    assert.equal(skipped?.path, 'route#1')
    assert.equal((await crew.run('r').view()).done, 2)
    assert.equal((await crew.replay('use', { runId: 'r' })).task('route').status, 'skipped')
  })
})
