// Guardrails and people between an answer and the output of its task.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool, type AgentOptions, type Guardrail, type Question, type TaskOptions } from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import type { Store } from '../../../src/stores/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { atEveryAppend, dyingStore, entriesOf, newStore, orDeath, refusal, stateOf } from '../../engine/support.ts'

interface Scene {
  readonly task?: Partial<TaskOptions>
  readonly agent?: Partial<AgentOptions>
  readonly script?: readonly ScriptEntry[]
  readonly store?: Store
}

/** The model says "draft", and "better" when it is sent back once, "best" when twice. */
function noting({ task, agent, script = [], store = memoryStore() }: Scene = {}) {
  const model = scriptedModel([
    ...script,
    { when: (text) => (text.match(/not accepted|wants it changed/g)?.length ?? 0) >= 2, reply: 'best' },
    { when: /not accepted|wants it changed/, reply: 'better' },
    { when: 'Task: Note', reply: 'draft' },
  ])
  const clerk = new Agent({ role: 'A', goal: 'g', model, ...agent })
  const note = new Task({ name: 'note', description: 'Note', agent: clerk, ...task })
  const crew = new Crew({ name: 'notes', tasks: [note], store, logger: { info() {}, warn() {} } })
  return { crew, model, store }
}
const polite: Guardrail = function polite({ raw }) {
  return raw === 'draft' ? 'it is only a draft' : true
}

describe('a function guardrail', () => {
  test('returns an answer to the model with its reason, and accepts the next one', async () => {
    const { crew, model, store } = noting({ task: { guardrails: polite } })
    assert.equal(String(await crew.kickoff({ id: 'r' })), 'better')
    assert.match(model.calls[1]?.lastMessage ?? '', /not accepted: it is only a draft/)
    const verdicts = (await entriesOf(store, 'r')).filter((entry) => entry.type === 'guardrail.judged')
    assert.deepEqual(
      verdicts.map(({ path, guardrail, verdict }) => [path, guardrail, verdict]),
      [
        ['note#1', 'polite', 'refused'],
        ['note#2', 'polite', 'accepted'],
      ],
    )
  })

  test('may replace the output, which the following guardrails see', async () => {
    const seen: string[] = []
    const guardrails: Guardrail[] = [
      ({ raw }) => ({ output: `${raw}, edited` }),
      ({ raw, task, inputs }) => {
        seen.push(`${raw} of ${task} ${JSON.stringify(inputs)}`)
        return true
      },
    ]
    const { crew } = noting({ task: { guardrails } })
    assert.equal(String(await crew.kickoff()), 'draft, edited')
    assert.deepEqual(seen, ['draft, edited of note {}'])
  })

  test('receives the run, a signal, and a key that is the same for every try at one answer', async () => {
    const seen: { runId: string; idempotencyKey: string; aborted: boolean; raw: string }[] = []
    let dead = false
    const look: Guardrail = ({ runId, idempotencyKey, signal, raw }) => {
      seen.push({ runId, idempotencyKey, aborted: signal.aborted, raw })
      // the process dies before the verdicts on the better answer are written
      dead ||= seen.length === 3
      return raw === 'draft' ? 'it is only a draft' : true
    }
    const store = newStore()
    const dying: Store = {
      ...store,
      append: (...given) => (dead ? Promise.reject(new Error('the process is dead')) : store.append(...given)),
      release: async () => 0,
    }
    const guardrails = [look, look]
    await orDeath(noting({ task: { guardrails }, store: dying }).crew.kickoff({ id: 'r' }))
    assert.equal(String(await noting({ task: { guardrails }, store }).crew.kickoff({ id: 'r' })), 'better')
    assert.deepEqual(
      seen.map(({ raw }) => raw),
      ['draft', 'better', 'better', 'better', 'better'],
    )
    assert.ok(seen.every(({ runId, aborted }) => runId === 'r' && !aborted))
    const [draft, first, second, ...again] = seen.map(({ idempotencyKey }) => idempotencyKey)
    assert.deepEqual(again, [first, second])
    assert.equal(new Set([draft, first, second]).size, 3)
  })

  test('ends with its signal when the run is cancelled', async () => {
    const asked = Promise.withResolvers<AbortSignal>()
    const guardrails: Guardrail = ({ signal }) => {
      asked.resolve(signal)
      return new Promise(() => {})
    }
    const { crew } = noting({ task: { guardrails } })
    const result = refusal(() => crew.kickoff({ id: 'r' }))
    const signal = await asked.promise
    await crew.run('r').cancel()
    assert.equal((await result).code, 'RUN_CANCELLED')
    assert.ok(signal.aborted)
  })

  test('receives parsed structured output, and its replacement must fit the schema', async () => {
    const output = z.object({ day: z.string().transform((day) => new Date(day)) })
    const script: ScriptEntry[] = [{ when: 'Task: Note', reply: { day: '2020-01-01' } }]
    let year: number | undefined
    const sees: Guardrail = ({ output: given }) => {
      year = (given as { day: Date }).day.getUTCFullYear()
      return { output: { day: '2021-01-01' } }
    }
    const { crew } = noting({ task: { output, guardrails: sees }, script })
    const result = await crew.kickoff()
    assert.equal(year, 2020)
    assert.deepEqual(result.output, { day: new Date('2021-01-01') })
    const wrong = noting({ task: { output, guardrails: () => ({ output: { day: 7 } }) }, script })
    await assert.rejects(wrong.crew.kickoff(), { code: 'TASK_FAILED', message: /does not fit the schema: day/ })
  })

  test('of the agent runs after those of the task', async () => {
    const order: string[] = []
    const note =
      (name: string): Guardrail =>
      () => {
        order.push(name)
        return true
      }
    const { crew } = noting({
      task: { guardrails: [note('first'), note('second')] },
      agent: { guardrails: note('agent') },
    })
    await crew.kickoff()
    assert.deepEqual(order, ['first', 'second', 'agent'])
  })

  test('is retried as often as retries allows, then the task fails with its reason', async () => {
    const { crew, model } = noting({ task: { guardrails: () => 'never good', retries: 1 } })
    await assert.rejects(crew.kickoff(), {
      code: 'OUTPUT_REFUSED',
      message: /no acceptable answer in 2 tries: never good/,
    })
    assert.equal(model.calls.length, 2)
  })

  test('that throws or returns something invalid fails the task at once, without another paid try', async () => {
    const thrown = noting({
      task: {
        guardrails: function checks() {
          throw new Error('oops')
        },
      },
    })
    await assert.rejects(thrown.crew.kickoff(), {
      code: 'TASK_FAILED',
      message: /^task note failed: guardrail checks threw: oops; to reject/,
    })
    assert.equal(thrown.model.calls.length, 1)
    const vague = noting({ task: { guardrails: (() => 7) as never } })
    await assert.rejects(vague.crew.kickoff(), { message: /returned 7; return true, a reason, or \{ output \}/ })
    assert.throws(() => noting({ task: { guardrails: [7 as never] } }), {
      code: 'OPTION_INVALID',
      message: /item 1 of guardrails of task "note" is 7; give a function, or a sentence/,
    })
  })

  test('is not called again once its verdict is on disk, and no answer is paid twice, after a crash at any append', async () => {
    await atEveryAppend(async (dying) => {
      let asked = 0
      const counting: Guardrail = (answer) => {
        asked++
        return answer.raw === 'draft' ? 'it is only a draft' : true
      }
      const { crew, store, model } = noting({ task: { guardrails: counting } })
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      assert.equal(String(await crew.kickoff({ id: 'r' })), 'better')
      assert.equal(model.calls.length, 2)
      assert.ok(asked <= 3)
    })
  })

  test('does not repeat a once tool of its task for an equal input, and asks before another input', async () => {
    const filed: string[] = []
    const file = tool({
      name: 'file',
      description: 'File',
      input: z.object({ id: z.string() }),
      run: ({ id }) => `filed ${filed.push(id)}`,
    })
    const scene = (second: string): Scene => ({
      task: { tools: [file], guardrails: polite },
      script: [
        {
          when: (text) => !text.includes('filed') && text.includes('Task: Note'),
          calls: [{ tool: 'file', input: { id: 'A' } }],
        },
        { when: 'not accepted', after: 1, calls: [{ tool: 'file', input: { id: second } }] },
      ],
    })
    const same = noting(scene('A'))
    assert.equal((await same.crew.kickoff()).status, 'completed')
    assert.deepEqual(filed, ['A'])
    const other = noting(scene('B'))
    const asking = await other.crew.kickoff()
    assert.equal(asking.status, 'suspended')
    assert.equal(asking.questions[0]?.kind, 'call')
    assert.deepEqual(filed, ['A', 'A'])
  })
})

describe('a guardrail for a model', () => {
  const rule = 'The note is not a draft'
  const judging: ScriptEntry[] = [
    {
      when: (text) => text.includes(`The rule: ${rule}`) && /The result:\ndraft/.test(text),
      reply: { accept: false, reason: 'it says draft' },
    },
    { when: `The rule: ${rule}`, reply: { accept: true, reason: '' } },
  ]

  test('judges through a model, whose reason goes back and whose cost is counted', async () => {
    const { crew, store, model } = noting({ task: { guardrails: rule }, script: judging })
    const result = await crew.kickoff({ id: 'r' })
    assert.equal(String(result), 'better')
    assert.match(model.calls[2]?.lastMessage ?? '', /not accepted: it says draft/)
    assert.equal(result.usage.spent.calls, 4)
    assert.deepEqual((await stateOf(store, 'r')).tasks.get('note')?.nested, [
      'note#1/1/guardrail-1#1',
      'note#2/1/guardrail-1#1',
    ])
  })

  test('is read back after a crash at any append, and not paid again', async () => {
    await atEveryAppend(async (dying) => {
      const { crew, store, model } = noting({ task: { guardrails: rule }, script: judging })
      await orDeath(crew.with({ store: dying(store) }).kickoff({ id: 'r' }))
      assert.equal(String(await crew.kickoff({ id: 'r' })), 'better')
      assert.equal(model.calls.length, 4)
    })
  })

  test("judges the final answer: an earlier function's replacement is not recomputed after the verdict", async () => {
    let times = 0
    const stamp: Guardrail = ({ raw }) => ({ output: `${raw}, stamped ${++times}` })
    const script: ScriptEntry[] = [
      { when: /The result:\ndraft, stamped 1$/, reply: { accept: true, reason: '' } },
      { when: 'The rule:', reply: { accept: false, reason: 'it is not stamped 1' } },
    ]
    const { crew, store } = noting({ task: { guardrails: [stamp, 'It is stamped 1'] }, script })
    let replies = 0
    const dying = dyingStore(store, (types) => types.includes('model.replied') && ++replies === 2)
    await assert.rejects(crew.with({ store: dying }).kickoff({ id: 'r' }))
    assert.equal(String(await crew.resume('r')), 'draft, stamped 1')
  })

  test('without a verdict fails the task and says so', async () => {
    const { crew } = noting({ task: { guardrails: rule }, script: [{ when: 'The rule:', reply: 'maybe' }] })
    await assert.rejects(crew.kickoff(), {
      code: 'OUTPUT_REFUSED',
      message: /the model returned no verdict for guardrail/,
    })
  })
})

describe('a task with a human review', () => {
  test('waits for a person, who approves through another handle', async () => {
    const { crew, model } = noting({ task: { humanInput: true } })
    const asking = await crew.kickoff({ id: 'r' })
    assert.equal(asking.status, 'suspended')
    const [question] = asking.questions
    assert.ok(question?.kind === 'result' && question.output === 'draft' && question.round === 1)
    assert.match(String(asking), /Is this result of task note good\?/)
    await crew.run('r').answer('q1', { decision: 'approve' }, { by: 'ada' })
    assert.equal(String(await crew.resume('r')), 'draft')
    assert.equal(model.calls.length, 1)
  })

  test('is revised as often as the person asks, in one conversation', async () => {
    const { crew, model } = noting({ task: { humanInput: true, retries: 0 } })
    const rounds: Question[] = []
    const onQuestion = (question: Question) => {
      rounds.push(question)
      if (rounds.length === 3) return { decision: 'approve' } as const
      return { decision: 'revise', feedback: `more ${rounds.length}` } as const
    }
    assert.equal(String(await crew.kickoff({ onQuestion })), 'best')
    assert.deepEqual(
      rounds.map((question) => question.kind === 'result' && [question.round, question.output]),
      [
        [1, 'draft'],
        [2, 'better'],
        [3, 'best'],
      ],
    )
    assert.match(model.calls[2]?.conversation ?? '', /more 1[\s\S]*more 2/)
  })

  test('accepts a person’s own result, which must fit the schema, or a failure', async () => {
    const output = z.object({ sum: z.number() })
    const script: ScriptEntry[] = [{ when: 'Task: Note', reply: { sum: 1 } }]
    const { crew } = noting({ task: { humanInput: true, output }, script })
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('q1', { decision: 'replace', output: { sum: 'two' } })
    const again = await crew.resume('r')
    assert.match(again.questions[0]?.text ?? '', /Your replacement does not fit: sum/)
    await crew.run('r').answer('q2', { decision: 'replace', output: { sum: 2 } })
    assert.deepEqual((await crew.resume('r')).output, { sum: 2 })
    const failing = noting({ task: { humanInput: true } })
    await failing.crew.kickoff({ id: 'r' })
    await failing.crew.run('r').answer('q1', { decision: 'fail', reason: 'nonsense' })
    await assert.rejects(failing.crew.resume('r'), {
      code: 'TASK_FAILED',
      message: /^task note failed: a person's answer failed it: nonsense;/,
    })
  })

  test('asks after the guardrails, whose verdicts are not requested again after the answer', async () => {
    let asked = 0
    const { crew } = noting({ task: { humanInput: true, guardrails: () => (asked++, true) } })
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('q1', { decision: 'approve' })
    await crew.resume('r')
    assert.equal(asked, 1)
  })
})

describe('the approval of a tool', () => {
  function paying(approval: boolean | ((input: { amount: number }) => boolean), effect: 'once' | 'read', amount = 500) {
    const paid: number[] = []
    const pay = tool({
      name: 'pay',
      description: 'Pay',
      effect,
      approval,
      input: z.object({ amount: z.number() }),
      run: (input) => `paid ${paid.push(input.amount)}`,
    })
    const script: ScriptEntry[] = [
      { when: 'Task: Note', calls: [{ tool: 'pay', input: { amount } }] },
      { when: 'Task: Note', reply: (text) => /paid \d|denied.*/.exec(text)?.[0] ?? 'nothing' },
    ]
    return { ...noting({ task: { tools: [pay] }, script }), paid }
  }

  test('is requested before the call, whatever its effect, and covers one call', async () => {
    for (const effect of ['once', 'read'] as const) {
      const { crew, paid } = paying(true, effect)
      const asking = await crew.kickoff({ id: 'r' })
      assert.equal(asking.questions[0]?.kind, 'call')
      assert.deepEqual(paid, [])
      await crew.run('r').answer('q1', { decision: 'approve', input: { amount: 5 } })
      assert.equal(String(await crew.resume('r')), 'paid 1')
      assert.deepEqual(paid, [5])
    }
  })

  test('may depend on the input, and may be denied', async () => {
    const large = ({ amount }: { amount: number }): boolean => amount > 100
    const small = paying(large, 'once', 50)
    assert.equal((await small.crew.kickoff()).status, 'completed')
    const { crew, paid } = paying(large, 'once')
    await crew.kickoff({ id: 'r' })
    await crew.run('r').answer('q1', { decision: 'deny', reason: 'too much' })
    assert.match(String(await crew.resume('r')), /too much/)
    assert.deepEqual(paid, [])
  })
})

test('the second answer to one of three questions in a run is reported as late', async () => {
  const store = memoryStore()
  const model = scriptedModel([{ when: 'Task:', reply: (text) => `${/Task: (\w+)/.exec(text)?.[1]} done` }])
  const agent = new Agent({ role: 'A', goal: 'g', model })
  const tasks = ['a', 'b', 'c'].map(
    (name) => new Task({ name, description: name, agent, context: [], humanInput: true }),
  )
  const crew = new Crew({ name: 'three', tasks, store, process: 'parallel' })
  const asking = await crew.kickoff({ id: 'r' })
  assert.deepEqual(
    asking.questions.map(({ path }) => path).toSorted((x, y) => (x < y ? -1 : 1)),
    ['a#1', 'b#1', 'c#1'],
  )
  const idOf = (path: string): string => asking.questions.find((question) => question.path === path)?.id ?? ''
  await crew.run('r').answer(idOf('c#1'), { decision: 'approve' })
  assert.deepEqual((await crew.resume('r')).questions.length, 2)
  await crew.run('r').answer(idOf('a#1'), { decision: 'replace', output: 'mine' })
  await assert.rejects(crew.run('r').answer(idOf('a#1'), { decision: 'approve' }), {
    code: 'QUESTION_ANSWERED',
    message: /already has an answer, .*; look at it with crew\.run\('r'\)\.view\(\)$/,
  })
  await crew.run('r').answer(idOf('b#1'), { decision: 'approve' })
  const done = await crew.resume('r')
  assert.deepEqual(
    done.tasks.map(({ raw }) => raw),
    ['mine', 'b done', 'c done'],
  )
  assert.equal(model.calls.length, 3)
})
