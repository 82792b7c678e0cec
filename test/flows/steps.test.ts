// The steps of flows: what is recorded, what the flow receives, and what a resume executes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, RepriseError, Task, tool, type FlowRun } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { atEveryAppend, newStore, ofGoneProcess, orDeath } from '../engine/support.ts'
import type { Store } from '../../src/stores/store.ts'
import { counting, entriesOf, ledger, listening, quiet } from './support.ts'

/** A crew of one agent task, whose model answers each prompt in capitals. */
function shoutingCrew(model = scriptedModel([{ when: /Shout/, reply: 'LOUD' }])) {
  const agent = new Agent({ role: 'Shouter', goal: 'g', model })
  return new Crew({
    name: 'shout',
    tasks: [new Task({ name: 'say', description: 'Shout {word}', agent })],
    logger: quiet,
  })
}

describe('a step of a flow', () => {
  test('a step is executed once, and the flow receives its result as JSON returns it', async () => {
    const store = newStore()
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      async run(flow) {
        const found = await flow.step('make', { effect: 'read' }, () => ({ at: new Date(0), none: undefined, n: 1 }))
        return { type: typeof found.at, has: 'none' in found, n: found.n }
      },
    })
    const result = await work.kickoff({ id: 'r' })
    assert.deepEqual(result.output, { type: 'string', has: false, n: 1 })
    assert.deepEqual((await work.resume('r')).output, { type: 'string', has: false, n: 1 })
  })

  test('a step receives a copy of its input, which it may change', async () => {
    const given = { list: [1] }
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) =>
        flow.step('change', { effect: 'read', input: given }, (input) => {
          input.list.push(2)
          return input.list
        }),
    })
    assert.deepEqual((await work.kickoff()).output, [1, 2])
    assert.deepEqual(given, { list: [1] })
  })

  test('steps that wait for a free place start in the order of their requests', async () => {
    const begun: number[] = []
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      concurrency: 3,
      run: (flow) =>
        Promise.all(
          Array.from({ length: 40 }, (_, n) =>
            flow.step('go', { key: n, effect: 'read', input: n }, () => void begun.push(n)),
          ),
        ),
    })
    await work.kickoff()
    assert.deepEqual(
      begun,
      begun.toSorted((a, b) => a - b),
    )
  })

  test('a read step takes one append, an idempotent or once step two', async () => {
    for (const [effect, each] of [
      ['read', 1],
      ['idempotent', 2],
      ['once', 2],
    ] as const) {
      const { store, appends } = counting(newStore())
      const work = new Flow({
        name: 'f',
        store,
        logger: quiet,
        async run(flow) {
          for (let n = 0; n < 10; n++) await flow.step('count', { key: n, effect, input: n }, (input) => input)
        },
      })
      await work.kickoff({ id: 'r' })
      // one more for run.completed
      assert.equal(appends(), 10 * each + 1, effect)
    }
  })

  test('a step with the name of another is refused with advice', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        await flow.step('a', { effect: 'read' }, () => 1)
        try {
          await flow.step('a', { effect: 'read' }, () => 2)
        } catch {
          return 'caught'
        }
        return 'passed'
      },
    })
    await assert.rejects(work.kickoff(), {
      code: 'CREW_INVALID',
      message: /step a is requested twice; .*key: item\.id/,
    })
  })

  test('a step is refused within the function of another step', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) => flow.step('outer', { effect: 'read' }, () => flow.step('inner', { effect: 'read' }, () => 1)),
    })
    await assert.rejects(work.kickoff(), /step inner is requested by the function of step outer/)
  })

  test('a step refuses names, keys, options and results that cannot be recorded', async () => {
    const attempts: [
      RegExp,
      (flow: Parameters<ConstructorParameters<typeof Flow>[0]['run']>[0]) => Promise<unknown>,
    ][] = [
      [/the name of a step is "a\/b", which contains/, (flow) => flow.step('a/b', () => 1)],
      [/the name of a step is "a\[1\]", which contains \[/, (flow) => flow.step('a[1]', () => 1)],
      [/the key of step a is ""/, (flow) => flow.step('a', { key: '' }, () => 1)],
      [/the key of step a is NaN/, (flow) => flow.step('a', { key: Number.NaN }, () => 1)],
      [
        /has no option "effects"; did you mean effect\?/,
        (flow) => flow.step('a', { effects: 'read' } as never, () => 1),
      ],
      [/effect of step "a" is "write"/, (flow) => flow.step('a', { effect: 'write' as never }, () => 1)],
      [/has retries, but its effect is once/, (flow) => flow.step('a', { retries: { times: 1 } }, () => 1)],
      [/the function of step "a" is 5/, (flow) => flow.step('a', 5 as never)],
      [/the input of step a.*is a Date/, (flow) => flow.step('a', { input: new Date() }, () => 1)],
      [/its result is not JSON/, (flow) => flow.step('a', () => new Map() as never)],
      [/timeout of ask is 5/, (flow) => flow.ask('a', 'b?', z.string(), { timeout: 5 as never })],
      [/the time of a sleep is "1s"/, (flow) => flow.sleep('a', '1s' as never)],
      [
        /what to run is 5; give a crew, a flow, an agent or a tool/,
        (flow) => (flow.run as (what: unknown) => Promise<unknown>)(5),
      ],
    ]
    for (const [words, run] of attempts) {
      const work = new Flow({ name: 'f', store: newStore(), logger: quiet, run })
      await assert.rejects(work.kickoff(), words)
    }
  })

  test('an unawaited step that fails does not crash the process, and the run completes', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        void flow.step('lost', { effect: 'read' }, () => {
          throw new Error('lost')
        })
        return flow.step('kept', { effect: 'read' }, () => 1)
      },
    })
    assert.equal((await work.kickoff()).output, 1)
  })

  test('keys of steps with special characters do not collide', async () => {
    const keys = ['a/b', 'a#b', 'a[b]', 'a%2fb', '1.0', 'ü', 'x'.repeat(300), `${'x'.repeat(299)}y`]
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) => Promise.all(keys.map((key) => flow.step('s', { key, input: key, effect: 'read' }, (one) => one))),
    })
    const result = await work.kickoff({ id: 'r' })
    assert.deepEqual(result.output, keys)
    assert.deepEqual((await work.resume('r')).output, keys)
  })
})

describe('a flow that is killed at every append', () => {
  test('a flow killed at any append repeats no recorded step, and ends as an undisturbed one', async () => {
    await atEveryAppend(async (dying) => {
      const inner = newStore()
      const { done, times } = ledger()
      const model = scriptedModel([{ when: /Shout/, reply: 'LOUD' }])
      const made = (store: ReturnType<typeof newStore>) =>
        new Flow({
          name: 'f',
          store,
          logger: quiet,
          async run(flow) {
            const items = await flow.step('list', { effect: 'read' }, () => ['a', 'b', 'c'])
            const all = await Promise.all(
              items.map((item) =>
                flow.step('make', { key: item, input: item, effect: 'idempotent' }, async (one) => {
                  done.push(`make ${one}`)
                  return one.toUpperCase()
                }),
              ),
            )
            let said = ''
            for (let round = 1; round <= 2; round++) {
              const { output } = await flow.run(shoutingCrew(model), { word: `${all[0]}${round}` }, { key: round })
              said += output
            }
            const paid = await flow.step(
              'pay',
              {
                input: all,
                settle: (_, input) =>
                  done.includes('pay')
                    ? { happened: true, result: input.length === 3 ? 'paid' : 'another input' }
                    : { happened: false },
              },
              () => {
                done.push('pay')
                return 'paid'
              },
            )
            return { all, said, paid }
          },
        })
      await orDeath(made(dying(ofGoneProcess(inner))).kickoff({ id: 'r' }))
      const result = await made(inner).kickoff({ id: 'r' })
      assert.deepEqual(result.output, { all: ['A', 'B', 'C'], said: 'LOUDLOUD', paid: 'paid' })
      assert.equal(times('pay'), 1)
      // only what was in flight at the kill is repeated
      const recorded = (await entriesOf(inner, 'r'))
        .filter(({ type }) => type === 'task.completed')
        .map(({ path }) => path)
      assert.deepEqual(new Set(recorded).size, recorded.length)
    })
  })
})

describe('the failures of steps', () => {
  const failing = (fails: Set<string>, calls: string[], name: string) => () => {
    calls.push(name)
    if (fails.has(name)) throw new Error(`${name} failed`)
    return name
  }

  test('all failed steps of a Promise.all are executed again by one resume, and no others', async () => {
    const fails = new Set(['i3', 'i7', 'i101'])
    const calls: string[] = []
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      concurrency: 200,
      run: (flow) =>
        Promise.all(
          Array.from({ length: 102 }, (_, n) =>
            flow.step('do', { key: n, effect: 'read' }, failing(fails, calls, `i${n}`)),
          ),
        ),
    })
    await assert.rejects(work.kickoff({ id: 'r' }), /task do\[3\] failed: i3 failed/)
    assert.equal(calls.length, 102)
    fails.clear()
    calls.length = 0
    assert.equal((await work.resume('r')).status, 'completed')
    assert.deepEqual(calls.toSorted(), ['i101', 'i3', 'i7'])
  })

  test('a failure that the flow caught is replayed from the record with its name and properties', async () => {
    class PaymentDeclined extends Error {
      override name = 'PaymentDeclined'
      declineCode = 'no_funds'
    }
    const store = newStore()
    let calls = 0
    let isOpen = true
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      async run(flow) {
        const seen = await flow
          .step('pay', () => {
            calls += 1
            throw new PaymentDeclined('declined')
          })
          .catch((error: Error & { declineCode?: string }) => `${error.name} ${error.declineCode} ${error.message}`)
        await flow.step('undo', { effect: 'read' }, () => 'undone')
        await flow.step('later', { effect: 'read' }, () => {
          if (isOpen) throw new Error('not yet')
          return 1
        })
        return seen
      },
    })
    await assert.rejects(work.kickoff({ id: 'r' }), /not yet/)
    isOpen = false
    const words = 'PaymentDeclined no_funds declined'
    assert.equal((await work.resume('r')).output, words)
    assert.equal(calls, 1)
  })

  test('failed steps are found in an error that refers to itself', { timeout: 10_000 }, async () => {
    let isDown = true
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const read = flow.step('read', { effect: 'read' }, () => {
          if (isDown) throw new Error('down')
          return 'up'
        })
        const failed = await read.catch((error: Error) => error)
        await flow.step('note', { effect: 'read' }, () => 1)
        if (typeof failed === 'string') return failed
        const all = new AggregateError([failed], 'all')
        all.errors.push(all, all, all)
        throw all
      },
    })
    await assert.rejects(work.kickoff({ id: 'r' }), /all/)
    isDown = false
    assert.equal((await work.resume('r')).output, 'up')
  })

  test('a failure of a child run fails its step, and a resume continues the child run where it stopped', async () => {
    const model = scriptedModel([{ when: /Shout/, reply: 'LOUD' }])
    let isDown = true
    const agent = new Agent({ role: 'Shouter', goal: 'g', model })
    const say = new Task({ name: 'say', description: 'Shout {word}', agent })
    const send = new Task({
      name: 'send',
      effect: 'read',
      run() {
        if (isDown) throw new Error('the line is down')
        return 'sent'
      },
    })
    const crew = new Crew({ name: 'shout', tasks: [say, send], logger: quiet })
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: async (flow) => (await flow.run(crew, { word: 'hey' })).output,
    })
    await assert.rejects(work.kickoff({ id: 'r' }), /task shout failed: .*the line is down/)
    isDown = false
    assert.equal((await work.resume('r')).output, 'sent')
    assert.equal(model.calls.length, 1)
  })

  test('a failed step stops child runs in progress before their next step, and a resume continues them', async () => {
    let isDown = true
    const calls: number[] = []
    const { promise: failed, resolve: fail } = Promise.withResolvers<void>()
    const child = new Flow({
      name: 'child',
      logger: quiet,
      async run(flow) {
        for (let n = 0; n < 50; n++)
          await flow.step('do', { key: n, effect: 'read' }, async () => {
            calls.push(n)
            if (n === 2) fail()
          })
        return 'done'
      },
    })
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const down = flow.step('down', { effect: 'read' }, async () => {
          await failed
          if (isDown) throw new Error('down')
        })
        const [{ output }] = await Promise.all([flow.run(child), down])
        return output
      },
    })
    await assert.rejects(work.kickoff({ id: 'r' }), /task down failed/)
    assert.ok(calls.length < 10, `${calls.length} steps`)
    isDown = false
    assert.equal((await work.resume('r')).output, 'done')
    assert.deepEqual(
      calls,
      Array.from({ length: 50 }, (_, n) => n),
    )
  })

  test('steps whose failure the flow replaced by its own error are executed again only with retry', async () => {
    const fails = new Set(['b'])
    const calls: string[] = []
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const all = await Promise.allSettled(
          ['a', 'b', 'c'].map((key) => flow.step('do', { key, effect: 'read' }, failing(fails, calls, key))),
        )
        await flow.step('note', { effect: 'read' }, () => 1)
        if (all.some(({ status }) => status === 'rejected')) throw new Error('some failed')
        return all.length
      },
    })
    await assert.rejects(work.kickoff({ id: 'r' }), /some failed/)
    fails.clear()
    await assert.rejects(work.resume('r'), /some failed/)
    assert.equal(calls.length, 3)
    await assert.rejects(work.resume('r', { retry: ['do[a]'] }), {
      code: 'OPTION_INVALID',
      message: /step do\[a\] .* has not failed; failed are do\[b\]/,
    })
    assert.equal((await work.resume('r', { retry: 'failed' })).output, 3)
    assert.equal(calls.length, 4)
  })

  test('a failed step with retries is retried before the flow receives the failure', async () => {
    let calls = 0
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) =>
        flow.step('fetch', { effect: 'read', retries: { times: 2, backoff: 0.01 } }, () => {
          calls += 1
          if (calls < 3) throw new Error('busy')
          return 'there'
        }),
    })
    assert.equal((await work.kickoff()).output, 'there')
    assert.equal(calls, 3)
  })

  test('a failure is received as the same error after a kill at any append', async () => {
    class Declined extends Error {
      override readonly name = 'Declined'
      readonly card = 'c7'
    }
    const refuse = () => {
      throw new Declined('no')
    }
    const till = new Crew({
      name: 'till',
      tasks: [new Task({ name: 'pay', effect: 'read', run: refuse })],
      logger: quiet,
    })
    await atEveryAppend(async (dying) => {
      const store = newStore()
      const work = (place: Store) =>
        new Flow({
          name: 'f',
          store: place,
          logger: quiet,
          async run(flow) {
            const names: string[] = []
            for (const retries of [undefined, { times: 1, backoff: 0 }])
              await flow
                .step('pay', { key: names.length, effect: 'read', ...(retries ? { retries } : {}) }, refuse)
                .catch(({ name, message, card }: Declined) => names.push(`${name}: ${message} ${card}`))
            await flow.run(till).catch(({ name, message, card }: Declined) => names.push(`${name}: ${message} ${card}`))
            return names
          },
        })
      await orDeath(work(dying(ofGoneProcess(store))).kickoff({ id: 'r' }))
      const { output } = await work(store).kickoff({ id: 'r' })
      assert.deepEqual(output, ['Declined: no c7', 'Declined: no c7', 'Declined: no c7'])
    })
  })

  test('a failed step is retried at once if its backoff is 0', async () => {
    let calls = 0
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) =>
        flow.step('fetch', { effect: 'read', retries: { times: 2, backoff: 0 } }, () => {
          calls += 1
          throw new Error(`busy ${calls}`)
        }),
    })
    await assert.rejects(work.kickoff(), /busy 3/)
  })

  test('a retry that is due much later suspends the run until then', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: (flow) =>
        flow.step('fetch', { effect: 'read', retries: { times: 1, backoff: 900 } }, () => {
          throw new Error('busy')
        }),
    })
    assert.match(String(await work.kickoff({ id: 'r' })), /sleeps until 20\d\d-/)
    assert.equal((await work.advance('r')).status, 'waiting')
  })

  test('an error of the function itself fails the run without naming a step', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        await flow.step('a', { effect: 'read' }, () => 1)
        throw new Error('a bug')
      },
    })
    await assert.rejects(
      work.kickoff(),
      (error: RepriseError) => error.code === 'TASK_FAILED' && error.task === undefined,
    )
  })

  test('a flow that returns something other than JSON fails, and the error names the place', async () => {
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      run: async () => ({ deep: [1n] }) as never,
    })
    await assert.rejects(work.kickoff(), /flow f returned something that is not JSON: .*deep\[0\] is a bigint/)
  })
})

describe('a flow whose code has changed', () => {
  test('a changed flow executes inserted steps, takes over renamed ones, and names removed ones', async () => {
    const store = newStore()
    const calls: string[] = []
    const made = (run: (flow: FlowRun) => Promise<unknown>) => new Flow({ name: 'f', store, logger: quiet, run })
    const call = (name: string) => () => calls.push(name)
    const first = made(async (flow) => {
      await flow.step('a', { effect: 'read' }, call('a'))
      await flow.step('b', { effect: 'read' }, call('b'))
      await flow.step('c', { effect: 'read' }, call('c'))
      return flow.ask('go', 'Go on?')
    })
    await first.kickoff({ id: 'r' })
    await first.run('r').answer('q1', { decision: 'answer', value: 'yes' })
    const second = made(async (flow) => {
      await flow.step('new', { effect: 'read' }, call('new'))
      await flow.step('first', { was: 'a', effect: 'read' }, call('first'))
      await flow.step('c', { effect: 'read' }, call('c'))
      return flow.ask('go', 'Go on?')
    })
    const result = await second.resume('r')
    assert.equal(result.output, 'yes')
    assert.deepEqual(calls, ['a', 'b', 'c', 'new'])
    assert.deepEqual(result.left, ['b'])
    assert.ok(result.tasks.some(({ name }) => name === 'first'))
  })
})

describe('a race', () => {
  test('a race of steps has the same winner in every process, and the same order of results', async () => {
    const store = newStore()
    const orders: string[][] = []
    let asks = true
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      async run(flow) {
        const order: string[] = []
        const steps = ['slow', 'fast'].map((key) =>
          flow.step('run', { key, effect: 'read' }, async () => {
            if (key === 'slow') await new Promise((resolve) => setTimeout(resolve, 20))
            return key
          }),
        )
        for (const one of steps) void one.then((key) => order.push(key))
        const winner = await Promise.race(steps)
        await Promise.all(steps)
        orders.push(order)
        if (asks) await flow.ask('go', 'Go on?')
        return winner
      },
    })
    await work.kickoff({ id: 'r' })
    asks = false
    assert.equal((await work.resume('r')).output, 'fast')
    assert.deepEqual(orders, [
      ['fast', 'slow'],
      ['fast', 'slow'],
    ])
  })

  test('a flow that returns stops losing read steps, awaits once calls, and cancels child runs', async () => {
    const store = newStore()
    const { done } = ledger()
    const asking = new Flow({ name: 'asking', logger: quiet, run: (flow) => flow.ask('sure', 'Sure?') })
    const work = new Flow({
      name: 'f',
      store,
      logger: quiet,
      async run(flow) {
        void flow.run(asking)
        void flow.step('read', { effect: 'read' }, async ({ signal }) => {
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
          done.push('read aborted')
        })
        void flow.step('pay', async () => {
          await new Promise((resolve) => setTimeout(resolve, 30))
          done.push('paid')
        })
        return flow.step('quick', { effect: 'read' }, () => 'won')
      },
    })
    const result = await work.kickoff({ id: 'r' })
    assert.equal(result.output, 'won')
    assert.deepEqual(done.toSorted(), ['paid', 'read aborted'])
    assert.equal((await store.row('r/asking#1'))?.status, 'cancelled')
    assert.deepEqual(result.questions, [])
  })
})

describe('flow.run', () => {
  test('flow.run executes a tool as a step, with its effect, its schema and its approval', async () => {
    const { done } = ledger()
    const refund = tool({
      name: 'refund',
      description: 'Refunds',
      input: z.object({ amount: z.number() }),
      approval: ({ amount }) => amount > 10,
      run: ({ amount }) => {
        done.push(`refunded ${amount}`)
        return { refunded: amount }
      },
    })
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const small = await flow.run(refund, { amount: 5 }, { key: 'small' })
        const big = await flow.run(refund, { amount: 50 }, { key: 'big' })
        return small.refunded + big.refunded
      },
    })
    const asked = await work.kickoff({ id: 'r' })
    assert.deepEqual(done, ['refunded 5'])
    assert.match(String(asked), /May refund\[big\]\(\{"amount":50\}\) be called\?/)
    await work.run('r').answer(asked.questions[0]?.id ?? '', { decision: 'approve' })
    assert.equal((await work.resume('r')).output, 55)
    const bad = new Flow({
      name: 'bad',
      store: newStore(),
      logger: quiet,
      run: (flow) => flow.run(refund, { amount: 'x' as never }),
    })
    await assert.rejects(bad.kickoff(), /the input of tool refund is not valid: amount/)
  })

  test('flow.run uses the tools and the model of a copy of the flow, in steps and in child runs', async () => {
    const { done } = ledger()
    const post = (where: string) =>
      tool({
        name: 'post',
        description: 'Posts',
        input: z.object({ text: z.string() }),
        run: ({ text }) => void done.push(`${where}: ${text}`),
      })
    const none = scriptedModel([])
    const agent = new Agent({ role: 'Poster', goal: 'g', model: none, tools: [post('real')] })
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        await flow.run(post('real'), { text: 'by the flow' })
        return (await flow.run(agent, 'Post it')).raw
      },
    })
    const model = scriptedModel([
      { when: 'Post it', calls: [{ tool: 'post', input: { text: 'by the agent' } }] },
      { when: 'Post it', reply: 'posted' },
    ])
    const copy = work.with({ model, tools: [post('copy')] })
    assert.equal((await copy.kickoff()).output, 'posted')
    assert.deepEqual(done, ['copy: by the flow', 'copy: by the agent'])
  })

  test('flow.run executes an agent on a prompt, with a typed answer', async () => {
    const model = scriptedModel([{ when: /Is it good/, reply: '{"good":true}' }])
    const reviewer = new Agent({ role: 'Reviewer', goal: 'g', model })
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const { output } = await flow.run(reviewer, 'Is it good, {really}?', {
          output: z.object({ good: z.boolean() }),
        })
        return output.good ? 'good' : 'bad'
      },
    })
    const result = await work.kickoff({ id: 'r' })
    assert.equal(result.output, 'good')
    assert.equal(result.usage.spent.calls, 1)
  })

  test('flow.run executes another flow, with its own questions and usage', async () => {
    const inner = new Flow({
      name: 'inner',
      logger: quiet,
      inputs: z.object({ n: z.number() }),
      async run(flow) {
        const ok = await flow.ask('ok', `Is ${flow.inputs.n} fine?`, z.boolean())
        const said = await flow.run(shoutingCrew(), { word: 'x' })
        return { ok, said: said.raw }
      },
    })
    const outer = new Flow({
      name: 'outer',
      store: newStore(),
      logger: quiet,
      async run(flow) {
        const [a, b] = await Promise.all([1, 2].map((n) => flow.run(inner, { n }, { key: n })))
        return [a?.output, b?.output]
      },
    })
    const asked = await outer.kickoff({ id: 'r' })
    assert.deepEqual(
      asked.questions.map(({ id, text }) => [id, text]),
      [
        ['inner[1]/q1', 'Is 1 fine?'],
        ['inner[2]/q1', 'Is 2 fine?'],
      ],
    )
    for (const { id } of asked.questions) await outer.run('r').answer(id, { decision: 'answer', value: true })
    const result = await outer.resume('r')
    assert.deepEqual(result.output, [
      { ok: true, said: 'LOUD' },
      { ok: true, said: 'LOUD' },
    ])
    assert.equal(result.usage.spent.calls, 2)
  })

  test('a flow that waits for something other than a step logs a warning', async () => {
    const { logger, warnings } = listening()
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger,
      async run() {
        await new Promise((resolve) => setTimeout(resolve, 300))
        return 1
      },
    })
    assert.equal((await work.kickoff()).output, 1)
    assert.match(warnings.join(), /flow f waits for something that is not a step/)
  })
})
