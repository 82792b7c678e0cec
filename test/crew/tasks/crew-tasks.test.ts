// Nested crews.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type CrewTaskOptions, type Question } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, dyingStore, newStore, orDeath, refusal, stateOf } from '../../engine/support.ts'
import type { AskedQuestion } from '../../../src/journal/state/open-questions.ts'

interface Scene {
  readonly store?: Store
  readonly script?: readonly ScriptEntry[]
  readonly sub?: Partial<CrewTaskOptions>
  readonly humanInput?: boolean
  readonly sumText?: string
}

/** plan → research, which is a crew of find and sum (which files once) → note. */
function nested({ store = memoryStore(), script = [], sub = {}, humanInput = false, sumText = 'Sum' }: Scene = {}) {
  const filed: string[] = []
  const file = tool({ name: 'file', description: 'File', input: z.object({}), run: () => `filed ${filed.push('x')}` })
  const model = scriptedModel([
    ...script,
    { when: 'Task: Plan', reply: 'the plan' },
    { when: 'Task: Find', reply: (text) => `facts on ${/Find (\w+)/.exec(text)?.[1]}` },
    { when: 'Task: Sum', calls: [{ tool: 'file', input: {} }] },
    { when: 'Task: Sum', reply: { count: 2, day: '2020-01-01' } },
    { when: 'Task: Note', reply: (text) => `note with ${/"count":\d/.exec(text)?.[0]}` },
  ])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const output = z.object({ count: z.number(), day: z.string().transform((day) => new Date(day)) })
  const find = new Task({ name: 'find', description: 'Find {topic}', agent, humanInput })
  const sum = new Task({ name: 'sum', description: sumText, agent, tools: [file], output })
  const child = new Crew({ name: 'research', tasks: [find, sum], logger: { info() {}, warn() {} } })
  const plan = new Task({ name: 'plan', description: 'Plan {topic}', agent })
  const research = new Task({ name: 'research', crew: child, ...sub })
  const note = new Task({ name: 'note', description: 'Note', agent })
  const crew = new Crew({ name: 'nested', tasks: [plan, research, note], store, logger: { info() {}, warn() {} } })
  return { crew, child, model, store, filed }
}
const inputs = { topic: 'fire' }

describe('a nested crew', () => {
  test('is a run of its own in the same store, whose last output is the task’s', async () => {
    const { crew, store, model } = nested()
    const result = await crew.kickoff({ id: 'r', inputs })
    assert.equal(String(result), 'note with "count":2')
    assert.deepEqual(result.task('research').output, { count: 2, day: new Date('2020-01-01') })
    const child = await stateOf(store, 'r/research#1')
    assert.equal(child.crew, 'research')
    assert.equal(child.status, 'completed')
    // all of its model calls count for the run that it works for
    assert.equal(result.usage.spent.calls, model.calls.length)
  })

  test('receives the outer inputs, or those of `inputs`, also as a function of earlier outputs', async () => {
    const asked = (scene: ReturnType<typeof nested>): string =>
      scene.model.calls.find(({ lastMessage }) => lastMessage.startsWith('Task: Find'))?.lastMessage ?? ''
    const own = nested()
    await own.crew.kickoff({ inputs })
    assert.match(asked(own), /Find fire/)
    const given = nested({ sub: { inputs: { topic: 'ice' } } })
    await given.crew.kickoff({ inputs })
    assert.match(asked(given), /Find ice/)
    const made = nested({ sub: { inputs: ({ outputs }) => ({ topic: `x${String(outputs['plan']).length}` }) } })
    await made.crew.kickoff({ inputs })
    assert.match(asked(made), /Find x8/)
  })

  test('with a context passes its inputs function only the outputs of that list, the last one as previous', async () => {
    const seen: unknown[] = []
    const look: CrewTaskOptions['inputs'] = ({ inputs: own, outputs, previous }) => {
      seen.push({ outputs, previous })
      return own
    }
    const { child } = nested()
    const [one, two, three] = ['one', 'two', 'three'].map(
      (name) => new Task({ name, effect: 'read', run: () => name, context: [] }),
    ) as [Task, Task, Task]
    const crews = [[two, one], undefined].map(
      (context, index) =>
        new Task({ name: `crew ${index}`, crew: child, inputs: look, ...(context ? { context } : {}) }),
    )
    await new Crew({ name: 'outer', tasks: [one, two, three, ...crews], store: memoryStore() }).kickoff({ inputs })
    const [some, all] = seen as { outputs: object; previous: unknown }[]
    assert.deepEqual(some, { outputs: { one: 'one', two: 'two' }, previous: 'two' })
    assert.deepEqual(Object.keys(all?.outputs ?? {}), ['one', 'two', 'three', 'crew 0'])
  })

  test('has its own output schema instead of that of the crew’s last task', async () => {
    const output = z.object({ count: z.number().transform((count) => `${count} facts`) })
    const { crew } = nested({ sub: { output } })
    const result = await crew.kickoff({ inputs })
    assert.deepEqual(result.task('research').output, { count: '2 facts' })
    const again = await crew.fork({ outputs: { research: { count: 3 } } })
    assert.deepEqual(again.task('research').output, { count: '3 facts' })
    const { crew: strict } = nested({ sub: { output: z.object({ total: z.number() }) } })
    const error = await refusal(() => strict.kickoff({ inputs }))
    assert.equal(error.code, 'OUTPUT_REFUSED')
    assert.match(error.message, /^task research failed: its output does not fit its schema: .*total/s)
    const refused = await refusal(() => strict.fork({ outputs: { research: { count: 3 } } }))
    assert.match(refused.message, /does not fit the schema of task research/)
  })

  test('with a schema checks the text of its crew', async () => {
    const say = new Task({ name: 'say', effect: 'read', run: () => 'two' })
    const inner = new Crew({ name: 'inner', tasks: [say], store: memoryStore() })
    const crewWith = (output: z.ZodType): Crew =>
      new Crew({ tasks: [new Task({ name: 'sub', crew: inner, output })], store: memoryStore() })
    const result = await crewWith(z.string().transform((text) => text.length)).kickoff()
    assert.equal(result.task('sub').output, 3)
    assert.equal((await refusal(() => crewWith(z.number()).kickoff())).code, 'OUTPUT_REFUSED')
  })

  test('accepts an object from a fork and an edit if the last task of its crew is a function without a schema', async () => {
    const look = new Task({ name: 'look', effect: 'read', run: ({ inputs: own }) => ({ found: own['topic'] ?? '' }) })
    const inner = new Crew({ name: 'inner', tasks: [look], store: memoryStore() })
    const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'sub', crew: inner })], store: memoryStore() })
    const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: 'Task: End', reply: 'a text' }]) })
    const end = new Task({ name: 'end', description: 'End', agent, humanInput: true })
    const both = new Crew({ name: 'both', tasks: [new Task({ name: 'sub', crew: outer }), end], store: memoryStore() })
    assert.equal((await both.kickoff({ id: 'first', inputs })).status, 'suspended')
    const forked = await both.fork({ id: 'second', runId: 'first', outputs: { sub: { found: 'ice' } } })
    assert.deepEqual(forked.task('sub').output, { found: 'ice' })
    await both.run('first').edit('sub', { found: 'rain' })
    assert.deepEqual((await both.resume('first')).task('sub').output, { found: 'rain' })
    const said = new Crew({
      tasks: [new Task({ name: 'sub', crew: new Crew({ tasks: [end] }) })],
      store: memoryStore(),
    })
    await said.kickoff({ id: 'r' })
    const error = await refusal(() => said.fork({ outputs: { sub: { found: 'ice' } as never } }))
    assert.match(error.message, /task sub has no output schema, so its output is a string/)
  })

  test('is resumed at its own position after a crash at any append, and repeats nothing', async () => {
    await atEveryAppend(async (dying) => {
      const { crew, store, model, filed } = nested()
      // not inside of the call: a person would be asked
      const dead = dying(store, (types) => !types.includes('tool.called'))
      await orDeath(crew.with({ store: dead }).kickoff({ id: 'r', inputs }))
      assert.equal(String(await crew.kickoff({ id: 'r', inputs })), 'note with "count":2')
      assert.equal(filed.length, 1)
      assert.equal(model.calls.length, 5)
    })
  })

  test('that waits for a person suspends the outer run, and both continue', async () => {
    const { crew, child, store } = nested({ humanInput: true })
    const waiting = await crew.kickoff({ id: 'r', inputs })
    assert.equal(waiting.status, 'suspended')
    await using helper = child.with({ store })
    await helper.run('r/research#1').answer('q1', { decision: 'approve' })
    assert.deepEqual((await crew.run('r').view()).questions, [])
    assert.equal((await crew.resume('r')).status, 'completed')
    const inline = nested({ humanInput: true })
    assert.equal(
      (await inline.crew.kickoff({ inputs, onQuestion: () => ({ decision: 'approve' }) })).status,
      'completed',
    )
  })

  test('asks with the inputs and outputs of its runs, from the outermost inwards, wherever the question is shown', async () => {
    const { crew, child, store } = nested({
      humanInput: true,
      sub: { inputs: ({ outputs }) => ({ topic: outputs['plan'] as string }) },
    })
    const asked: AskedQuestion[] = []
    const onQuestion = (question: AskedQuestion): undefined => void asked.push(question)
    const { questions } = await crew.kickoff({ id: 'r', inputs, onQuestion })
    const above = { runId: 'r', crew: 'nested', task: 'research', description: 'the crew research', agent: undefined }
    const inner = { runId: 'r/research#1', crew: 'research', task: 'find', description: 'Find the plan', agent: 'A' }
    const asking = [
      { ...above, inputs, outputs: [{ task: 'plan', raw: 'the plan' }] },
      { ...inner, inputs: { topic: 'the plan' }, outputs: [] },
    ]
    assert.deepEqual(questions[0]?.asking, asking)
    assert.deepEqual((await crew.run('r').view()).questions[0]?.asking, asking)
    assert.deepEqual(asked[0]?.asking, asking)
    // a view of the child run alone does not show the outer runs
    const [alone] = (await child.with({ store }).run('r/research#1').view()).questions
    assert.deepEqual(alone?.asking, asking.slice(1))
  })

  test('asks through the outer run: a person who knows only that run sees the question and answers it', async () => {
    const { crew, store } = nested({ humanInput: true })
    const waiting = await crew.kickoff({ id: 'r', inputs })
    const [question] = waiting.questions
    assert.deepEqual([question?.id, question?.path, question?.kind], ['research/q1', 'research#1/find#1', 'result'])
    assert.match(
      String(waiting),
      /^Run r waits for an answer to research\/q1: Is this result of task find good\?.* \(answer with crew\.run\('r'\)\.answer\('research\/q1', \{ decision: 'approve' \| /,
    )
    assert.deepEqual((await crew.run('r').view()).questions, [question])
    const answer = (id: string): Promise<void> => crew.run('r').answer(id, { decision: 'replace', output: 'mine' })
    await assert.rejects(answer('q1'), { code: 'QUESTION_NOT_FOUND', message: /open are research\/q1/ })
    await assert.rejects(answer('plan/q1'), { code: 'QUESTION_NOT_FOUND', message: /open are research\/q1/ })
    await assert.rejects(answer('research/q2'), { code: 'QUESTION_NOT_FOUND' })
    await answer('research/q1')
    await assert.rejects(answer('research/q1'), { code: 'QUESTION_ANSWERED', message: /already has an answer/ })
    assert.equal((await crew.resume('r')).status, 'completed')
    assert.equal((await stateOf(store, 'r/research#1')).tasks.get('find')?.output?.raw, 'mine')
    await assert.rejects(answer('research/q1'), { code: 'QUESTION_NOT_FOUND', message: /none is open/ })
  })

  test('asks through all outer runs, and passes questions to onQuestion under the same names', async () => {
    const { crew } = nested({ humanInput: true })
    const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'all', crew })], store: memoryStore() })
    const [question] = (await outer.kickoff({ id: 'o', inputs })).questions
    assert.equal(question?.id, 'all/research/q1')
    const asked: string[] = []
    const onQuestion = ({ id }: Question): undefined => void asked.push(id)
    assert.equal((await outer.resume('o', { onQuestion })).status, 'suspended')
    assert.deepEqual(asked, ['all/research/q1'])
    await outer.run('o').answer('all/research/q1', { decision: 'approve' })
    assert.equal((await outer.resume('o')).status, 'completed')
  })

  test('continues in the same life when it is answered while another task is active', async () => {
    const { child, store: inner } = nested({ humanInput: true })
    const waits = Promise.withResolvers<void>()
    const store: Store = {
      ...inner,
      async append(lease, after, batch) {
        const waiting = await inner.append(lease, after, batch)
        if (batch.row?.status === 'suspended') waits.resolve()
        return waiting
      },
    }
    const { promise: answered, resolve } = Promise.withResolvers<void>()
    const slow = new Task({ name: 'slow', context: [], effect: 'read', run: () => answered })
    const research = new Task({ name: 'research', crew: child, context: [] })
    const crew = new Crew({ name: 'beside', tasks: [research, slow], process: 'parallel', store })
    const run = await crew.kickoff({ id: 'r', inputs }).started
    await waits.promise
    await crew.run('r').answer('research/q1', { decision: 'approve' })
    resolve()
    const result = await run.result()
    assert.equal(result.status, 'completed')
    assert.equal((await stateOf(store, 'r')).lives, 1)
  })

  test('that fails fails the outer run with its message, and a resume continues inside', async () => {
    const store = memoryStore()
    const broken = nested({ store, script: [{ when: 'Task: Sum', error: 'no power' }] })
    await assert.rejects(broken.crew.kickoff({ id: 'r', inputs }), {
      code: 'MODEL_FAILED',
      task: 'research',
      runId: 'r',
      message: /^task research\/sum failed: .*no power; continue with crew\.run\('r'\)\.resume\(\)$/,
    })
    const { crew, model } = nested({ store })
    await crew.resume('r')
    assert.deepEqual(
      model.calls.map(({ lastMessage, conversation }) => /Task: (\w+)/.exec(conversation)?.[1] ?? lastMessage),
      ['Sum', 'Sum', 'Note'],
    )
  })

  test('that fails two levels deep says once how to continue, and names the run that was kicked off', async () => {
    const outer = new Task({ name: 'all', crew: nested({ script: [{ when: 'Task: Sum', error: 'no power' }] }).crew })
    const crew = new Crew({ name: 'outer', tasks: [outer], store: memoryStore(), logger: { info() {}, warn() {} } })
    const failed = await crew.kickoff({ id: 'r', inputs }).catch((error: unknown) => error)
    assert.deepEqual(String(failed).match(/crew\.run.*/g), ["crew.run('r').resume()"])
    // a recorded message is read later, next to its own commands
    assert.doesNotMatch((await crew.run('r').view()).error?.message ?? '', /continue with/)
  })

  test('does not repeat its once calls in a run derived from the outer run, except on request', async () => {
    const { crew, filed } = nested()
    await crew.kickoff({ id: 'one', inputs })
    await crew.replay('research', { id: 'two', runId: 'one' })
    await crew.replay('research', { id: 'three', runId: 'two' })
    assert.equal(filed.length, 1)
    await crew.replay('research', { runId: 'three', effects: 'again' })
    assert.equal(filed.length, 2)
  })

  test('does not repeat them if the outer run had not ended either', async () => {
    const store = memoryStore()
    const broken = nested({ store, script: [{ when: 'filed', error: 'no power' }] })
    await assert.rejects(broken.crew.kickoff({ id: 'one', inputs }))
    assert.equal(broken.filed.length, 1)
    const { crew, filed } = nested({ store })
    assert.equal((await crew.fork({ runId: 'one' })).status, 'completed')
    assert.equal(filed.length, 0)
  })

  test('does not repeat them if its code changed before the run is resumed', async () => {
    const store = memoryStore()
    const broken = nested({ store, script: [{ when: 'filed', error: 'no power' }] })
    await assert.rejects(broken.crew.kickoff({ id: 'one', inputs }))
    const { crew, filed } = nested({ store, sumText: 'Sum up' })
    await assert.rejects(crew.resume('one', { changed: 'refuse' }), { code: 'DEFINITION_CHANGED', task: 'research' })
    assert.equal((await crew.resume('one')).status, 'completed')
    assert.deepEqual([broken.filed.length, filed.length], [1, 0])
  })

  test('is stale if an inner task changed', async () => {
    const { crew, store } = nested()
    await crew.kickoff({ inputs })
    const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: 'Task:', reply: 'x' }]) })
    const child = new Crew({ name: 'research', tasks: [new Task({ name: 'find', description: 'Find it', agent })] })
    const tasks = crew.tasks.map((task) =>
      task.name === 'research' ? new Task({ name: 'research', crew: child }) : task,
    )
    const plan = await new Crew({ name: 'nested', tasks, store }).plan()
    const fields = plan.tasks.find(({ task }) => task === 'research')?.fields
    assert.ok(fields?.includes('crew task:1') && fields.includes('crew task:2'))
  })

  test('is stale if the task passes it other inputs', async () => {
    const store = memoryStore()
    await nested({ store, sub: { inputs: { topic: 'fire' } } }).crew.kickoff({ inputs })
    const plan = await nested({ store, sub: { inputs: { topic: 'water' } } }).crew.plan()
    assert.deepEqual(plan.tasks.find(({ task }) => task === 'research')?.fields, ['crew inputs'])
    assert.deepEqual((await nested({ store, sub: { inputs: { topic: 'fire' } } }).crew.plan()).execute, [])
  })

  test('is cancelled with the outer run', async () => {
    const { promise: asked, resolve: hear } = Promise.withResolvers<void>()
    const { crew, store } = nested()
    const model = scriptedModel([{ when: 'Task: Plan', reply: 'the plan' }])
    const hanging: typeof model = {
      ...model,
      doGenerate(request) {
        if (JSON.stringify(request.prompt).includes('Task: Plan')) return model.doGenerate(request)
        hear()
        return new Promise((_, reject) => {
          request.abortSignal?.addEventListener('abort', () => reject(new Error('aborted')))
        })
      },
    }
    const run = await crew.with({ model: hanging }).kickoff({ id: 'r', inputs }).started
    await asked
    await run.cancel()
    await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
    assert.equal((await stateOf(store, 'r')).status, 'cancelled')
    assert.equal((await stateOf(store, 'r/research#1')).status, 'cancelled')
  })

  test('is cancelled with the outer run even while it waits for a person, whether or not the outer run is executed', async () => {
    const { crew, child, store } = nested({ humanInput: true })
    await crew.kickoff({ id: 'r', inputs })
    await crew.run('r').cancel()
    assert.equal((await stateOf(store, 'r/research#1')).status, 'cancelled')
    const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
    const tasks = [
      new Task({ name: 'research', crew: child, context: [] }),
      new Task({
        name: 'slow',
        effect: 'read',
        context: [],
        run({ signal }) {
          begin()
          return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
        },
      }),
    ]
    // one at a time: the crew waits for a person when the other task begins
    const wide = new Crew({ name: 'wide', tasks, process: 'parallel', concurrency: 1, store })
    const run = await wide
      .with({ model: scriptedModel([{ when: 'Task: Find', reply: 'facts' }]) })
      .kickoff({ id: 's', inputs }).started
    await begun
    await run.cancel()
    await assert.rejects(run.result(), { code: 'RUN_CANCELLED' })
    assert.equal((await stateOf(store, 's/research#1')).status, 'cancelled')
  })

  test('is cancelled when the run is cancelled again, if the process was killed in between', async () => {
    const { crew, store } = nested({ humanInput: true, store: newStore() })
    await crew.kickoff({ id: 'r', inputs })
    const dying = dyingStore(store, (types) => types.includes('run.cancelled'))
    await assert.rejects(crew.with({ store: dying }).run('r').cancel(), /the process is dead/)
    assert.equal((await stateOf(store, 'r/research#1')).status, 'suspended')
    await assert.rejects(crew.run('r').cancel(), { code: 'RUN_ENDED' })
    assert.equal((await stateOf(store, 'r/research#1')).status, 'cancelled')
  })

  test('is cancelled then two levels down too, if the process was killed between the two', async () => {
    const { crew, store } = nested({ humanInput: true, store: newStore() })
    const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'all', crew })], store })
    await outer.kickoff({ id: 'r', inputs })
    let cancelled = 0
    const dying = dyingStore(store, (types) => types.includes('run.cancelled') && ++cancelled === 2)
    await assert.rejects(outer.with({ store: dying }).run('r').cancel(), /the process is dead/)
    assert.equal((await stateOf(store, 'r/all#1')).status, 'cancelled')
    assert.equal((await stateOf(store, 'r/all#1/research#1')).status, 'suspended')
    await assert.rejects(outer.run('r').cancel(), { code: 'RUN_ENDED' })
    assert.equal((await stateOf(store, 'r/all#1/research#1')).status, 'cancelled')
  })

  test('counts everything that it has spent so far for the outer run that waits for it', async () => {
    const { crew, model } = nested({ humanInput: true })
    const stopped = await crew.kickoff({ id: 'r', inputs })
    assert.equal(model.calls.length, 2)
    assert.equal(stopped.usage.spent.calls, 2)
    const view = await crew.run('r').view()
    assert.equal(view.usage.calls, 2)
    assert.equal(view.task('research').usage.calls, 1)
    await crew.run('r').answer('research/q1', { decision: 'approve' })
    const done = await crew.resume('r')
    assert.equal(done.usage.spent.calls, model.calls.length)
    assert.equal((await crew.run('r').view()).usage.calls, model.calls.length)
  })

  test('is not restarted with its calls forgotten if the store cannot read them', async () => {
    const store = memoryStore()
    const broken = nested({ store, script: [{ when: 'filed', error: 'no power' }] })
    await assert.rejects(broken.crew.kickoff({ id: 'r', inputs }), { code: 'MODEL_FAILED' })
    const failing: Store = {
      ...store,
      read(run, after) {
        if (run === 'r/research#1') throw new Error('the disk does not answer')
        return store.read(run, after)
      },
    }
    const { crew, filed } = nested({ store: failing })
    await assert.rejects(crew.replay('research', { runId: 'r' }), /the disk does not answer/)
    assert.deepEqual([broken.filed.length, filed.length], [1, 0])
  })

  test('started again knows the calls that were made two crews down', async () => {
    const store = memoryStore()
    const broken = nested({ store, script: [{ when: 'filed', error: 'no power' }] })
    const outer = (crew: Crew) => new Crew({ name: 'top', tasks: [new Task({ name: 'all', crew })], store })
    await assert.rejects(outer(broken.crew).kickoff({ id: 'r', inputs }), { code: 'MODEL_FAILED' })
    const { crew, filed } = nested({ store })
    const done = await outer(crew).replay('all', { runId: 'r' })
    assert.equal(done.status, 'completed')
    assert.deepEqual([broken.filed.length, filed.length], [1, 0])
  })

  test('is checked for missing inputs before anything is spent, as far as they are known', async () => {
    const missing = { code: 'INPUT_MISSING', message: /the description of task find uses \{topic\}/ }
    const model = scriptedModel([{ when: 'Task:', reply: 'x' }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const child = new Crew({ name: 'in', tasks: [new Task({ name: 'find', description: 'Find {topic}', agent })] })
    const first = new Task({ name: 'first', description: 'First', agent })
    const crewWith = (research: Task) => new Crew({ name: 'out', tasks: [first, research], store: memoryStore() })
    await assert.rejects(crewWith(new Task({ name: 'n', crew: child })).kickoff(), missing)
    await assert.rejects(crewWith(new Task({ name: 'n', crew: child, inputs: { other: 1 } })).kickoff(), missing)
    const day = { code: 'INPUT_INVALID', message: /inputs of task n\.topic is a Date/ }
    await assert.rejects(crewWith(new Task({ name: 'n', crew: child, inputs: { topic: new Date() } })).kickoff(), day)
    assert.equal(model.calls.length, 0)
    assert.equal((await crewWith(new Task({ name: 'n', crew: child, inputs: { topic: 1 } })).kickoff()).raw, 'x')
  })

  test('whose inputs function threw or left one out continues with its result after a repair', async () => {
    let give = (): { readonly [name: string]: string } => {
      throw new Error('no topic')
    }
    const { crew } = nested({ sub: { inputs: () => give() } })
    const threw = { code: 'TASK_FAILED', message: /^task research failed: its inputs threw: no topic; continue/ }
    await assert.rejects(crew.kickoff({ id: 'r', inputs }), threw)
    give = () => ({})
    await assert.rejects(crew.resume('r'), { code: 'INPUT_MISSING', task: 'research' })
    give = () => ({ topic: 'water' })
    assert.equal((await crew.resume('r')).status, 'completed')
  })

  test('must be a crew', () => {
    assert.throws(() => new Task({ name: 'x', crew: {} } as never), {
      code: 'OPTION_INVALID',
      message: /crew of task "x" is an object; give a crew made with new Crew/,
    })
    assert.throws(() => nested({ sub: { agent: 1 } as never }), { code: 'OPTION_UNKNOWN' })
  })
})
