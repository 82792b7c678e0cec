// Forks of flows: what they inherit from the parent, and what they execute.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Flow, Task, type FlowRun } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { newStore } from '../engine/support.ts'
import { ledger, listening, quiet } from './support.ts'

type Body = (flow: FlowRun<{ readonly n: number }>) => Promise<unknown>

function flowOf(body: Body, store = newStore(), logger = quiet) {
  return new Flow({
    name: 'f',
    store,
    logger,
    inputs: z.object({ n: z.number().default(1) }),
    run: body,
  })
}

/** a → fan-out over b, c, d → sum → a once step. */
function diamond(done: string[]): Body {
  return async (flow) => {
    const log = <T>(name: string, value: T): T => (done.push(name), value)
    const a = await flow.step('a', { effect: 'read' }, () => log('a', 1))
    const parts = await Promise.all(
      ['b', 'c', 'd'].map((key) =>
        flow.step('part', { key, input: [key, a], effect: 'read' }, ([one]) => log(`part ${one}`, one)),
      ),
    )
    const sum = await flow.step('sum', { input: parts, effect: 'read' }, (all) => log('sum', all.join('')))
    const sent = await flow.step('send', { input: sum }, (text) => log('send', `sent ${text}`))
    return { sum, sent, u: flow.uuid('u') }
  }
}

describe('a replay of a flow', () => {
  test('a replay of a flow from a step executes it and later requests, and inherits the rest', async () => {
    const { done } = ledger()
    const work = flowOf(diamond(done))
    const first = await work.kickoff({ id: 'r' })
    done.length = 0
    const plan = await work.run('r').plan({ from: 'sum' })
    assert.deepEqual(
      plan.tasks.map(({ task, action }) => [task, action]),
      [
        ['a', 'inherit'],
        ['part[b]', 'inherit'],
        ['part[c]', 'inherit'],
        ['part[d]', 'inherit'],
        ['sum', 'execute'],
        ['send', 'execute'],
      ],
    )
    assert.equal(plan.open, true)
    assert.match(String(plan), /and further steps, which are known only when the flow requests them/)
    const result = await work.replay('sum', { runId: 'r', id: 's' })
    // the once call has the same input as in the parent, so its recorded result is used
    assert.deepEqual(done, ['sum'])
    assert.deepEqual(result.output, first.output)
  })

  test('a replay from one key executes its step, and none whose input comes out equal', async () => {
    const { done } = ledger()
    const work = flowOf(diamond(done))
    await work.kickoff({ id: 'r' })
    done.length = 0
    const result = await work.run('r').replay('part[c]', { only: 'descendants' })
    assert.deepEqual(done, ['part c'])
    assert.equal(result.status, 'completed')
  })

  test('a replay from a name executes the steps with all of its keys', async () => {
    const { done } = ledger()
    const work = flowOf(diamond(done))
    await work.kickoff({ id: 'r' })
    done.length = 0
    await work.run('r').replay('part', { effects: 'again' })
    assert.deepEqual(done.toSorted(), ['part b', 'part c', 'part d', 'send', 'sum'])
  })

  test('a replay from an unknown step names the steps of the run', async () => {
    const work = flowOf(diamond([]))
    await work.kickoff({ id: 'r' })
    await assert.rejects(work.run('r').replay('prat'), {
      code: 'TASK_NOT_FOUND',
      message: /run r has no step prat; it has a, part\[b\], /,
    })
  })

  test('a replay of a flow keeps random numbers, ids and times from before the step', async () => {
    const work = flowOf(async (flow) => {
      await flow.step('a', { effect: 'read' }, () => 1)
      const before = [flow.random('x'), flow.uuid('y', { key: 2 }), flow.now().toISOString()]
      await flow.step('b', { effect: 'read' }, () => 2)
      return before
    })
    const first = await work.kickoff({ id: 'r' })
    const again = await work.run('r').replay('b')
    assert.deepEqual((again.output as string[]).slice(0, 2), (first.output as string[]).slice(0, 2))
    const other = await work.kickoff()
    assert.notDeepEqual((other.output as string[])[1], (first.output as string[])[1])
  })

  test('a replay of a flow inherits failures, answers, events and sleeps', async () => {
    const { done } = ledger()
    const work = flowOf(async (flow) => {
      const failed = await flow
        .step('bad', { effect: 'read' }, () => {
          done.push('bad')
          throw new RangeError('too much')
        })
        .catch((error: Error) => `${error.name}: ${error.message}`)
      const answer = await flow.ask('who', 'Who?')
      const late = await flow.ask('late', 'Late?', z.string(), { timeout: { seconds: 0.01 } })
      const event = await flow.event('go', z.number())
      await flow.sleep('nap', { seconds: 0.01 })
      await flow.step('last', { effect: 'read' }, () => done.push('last'))
      return [failed, answer, late ?? 'none', event]
    })
    await work.kickoff({ id: 'r' })
    await work.run('r').answer('q1', { decision: 'answer', value: 'me' })
    await work.run('r').send('go', 7)
    const first = await work.resume('r')
    assert.deepEqual(first.output, ['RangeError: too much', 'me', 'none', 7])
    done.length = 0
    const again = await work.run('r').replay('last')
    assert.equal(again.status, 'completed')
    assert.deepEqual(again.output, first.output)
    assert.deepEqual(done, ['last'])
  })
})

describe('a flow with the option `through`', () => {
  const pays = () =>
    new Flow({
      name: 'pays',
      store: newStore(),
      logger: quiet,
      concurrency: 1,
      async run(flow) {
        const list = await flow.step('list', { effect: 'read' }, () => [1, 2, 3])
        const paid = await Promise.all(
          list.map((n) => flow.step('pay', { key: n, input: n, effect: 'read' }, (one) => one)),
        )
        return flow.step('sum', { effect: 'read' }, () => paid.length)
      },
    })

  test('a flow is suspended after the step `through`, or after all of its keys, and a resume continues', async () => {
    const flow = pays()
    const first = await flow.kickoff({ id: 'r', through: 'list' })
    assert.equal(first.status, 'suspended')
    assert.match(first.facts ?? '', /stopped after task list, as requested/)
    const second = await flow.resume('r', { through: 'pay' })
    assert.deepEqual(
      second.tasks.map(({ name, status }) => `${name} ${status}`),
      ['list executed', 'pay[1] executed', 'pay[2] executed', 'pay[3] executed'],
    )
    assert.equal((await flow.resume('r', { through: 'sum' })).output, 3)
  })

  test('a flow completes if it does not request the step `through`', async () => {
    assert.equal((await pays().kickoff({ through: 'refund' })).output, 3)
  })

  test('`through` a task within a step is refused', async () => {
    await assert.rejects(pays().kickoff({ through: 'pay[1]/write' }), {
      code: 'OPTION_INVALID',
      message: /give the step: pay\[1\]/,
    })
  })
})

describe('a fork of a flow', () => {
  test('a fork of a flow with another output executes the steps that depend on it', async () => {
    const { done } = ledger()
    const work = flowOf(diamond(done))
    await work.kickoff({ id: 'r' })
    done.length = 0
    const result = await work.run('r').fork({ outputs: { 'part[b]': 'B' }, effects: 'again' })
    assert.deepEqual(done, ['sum', 'send'])
    assert.match(JSON.stringify(result.output), /sent Bcd/)
  })

  test('a fork of a flow with other inputs executes only the steps that use them', async () => {
    const { done } = ledger()
    const work = flowOf(async (flow) => {
      const n = flow.inputs.n
      const fixed = await flow.step('fixed', { input: 1, effect: 'read' }, () => (done.push('fixed'), 1))
      const own = await flow.step('own', { input: n, effect: 'read' }, (given) => (done.push('own'), given))
      return fixed + own
    })
    await work.kickoff({ id: 'r' })
    done.length = 0
    const plan = await work.run('r').plan({ inputs: { n: 5 } })
    assert.deepEqual(plan.execute, ['own'])
    const result = await work.run('r').fork({ inputs: { n: 5 } })
    assert.equal(result.output, 6)
    assert.deepEqual(done, ['own'])
  })

  test('a fork of a flow with retry executes the failed steps and the steps after them', async () => {
    const { done } = ledger()
    let fails = true
    const work = flowOf(async (flow) => {
      const all = await Promise.allSettled(
        ['a', 'b'].map((key) =>
          flow.step('do', { key, input: key, effect: 'read' }, (one) => {
            done.push(one)
            if (fails && one === 'b') throw new Error('no')
            return one
          }),
        ),
      )
      return all.map(({ status }) => status)
    })
    assert.deepEqual((await work.kickoff({ id: 'r' })).output, ['fulfilled', 'rejected'])
    fails = false
    done.length = 0
    assert.deepEqual((await work.run('r').fork({ retry: 'failed' })).output, ['fulfilled', 'fulfilled'])
    assert.deepEqual(done, ['b'])
  })

  test('a fork of a flow asks about a new once step if a call of the parent is no longer requested', async () => {
    const { done } = ledger()
    const body =
      (name: string): Body =>
      async (flow) => {
        await flow.step('a', { effect: 'read' }, () => 1)
        return flow.step(name, { input: 1 }, () => (done.push('paid'), 1))
      }
    const store = newStore()
    await flowOf(body('pay'), store).kickoff({ id: 'r' })
    const asked = await flowOf(body('charge'), store).run('r').replay('a')
    assert.equal(asked.status, 'suspended')
    assert.match(String(asked), /May charge\(1\) be called\?.*pay\(1\)/)
    assert.deepEqual(done, ['paid'])
  })
})

describe('a refresh of a flow', () => {
  test('a refresh of a flow creates no run if nothing has changed', async () => {
    const { done } = ledger()
    const work = flowOf(diamond(done))
    await work.kickoff({ id: 'r' })
    assert.equal((await work.run('r').refresh()).runId, 'r')
  })

  test('a refresh of a flow executes steps with another version, and keeps steps with equal inputs', async () => {
    const { done } = ledger()
    const body =
      (version: string): Body =>
      async (flow) => {
        const a = await flow.step('a', { input: 1, version, effect: 'read' }, () => (done.push('a'), 'same'))
        return flow.step('b', { input: a, effect: 'read' }, () => (done.push('b'), 2))
      }
    const store = newStore()
    await flowOf(body('1'), store).kickoff({ id: 'r' })
    // a resume of a completed run executes nothing
    assert.equal((await flowOf(body('2'), store).resume('r')).runId, 'r')
    const result = await flowOf(body('2'), store).run('r').refresh()
    assert.notEqual(result.runId, 'r')
    assert.deepEqual(done, ['a', 'b', 'a'])
  })

  test('a refresh of a flow takes over the records of renamed steps', async () => {
    const { done } = ledger()
    const body =
      (name: string, was?: string): Body =>
      async (flow) => {
        const a = await flow.step(name, { effect: 'once', ...(was === undefined ? {} : { was }) }, () => done.push('a'))
        return flow.step('b', { effect: 'read' }, () => done.push(`b ${a}`))
      }
    const store = newStore()
    await flowOf(body('a'), store).kickoff({ id: 'r' })
    const renamed = flowOf(body('first', 'a'), store)
    assert.deepEqual((await renamed.run('r').plan({ of: 'fork' })).execute, [])
    assert.equal((await renamed.run('r').refresh()).runId, 'r')
    const forked = await renamed.run('r').fork({ id: 's' })
    assert.deepEqual(
      forked.tasks.map(({ name, status }) => `${name} ${status}`),
      ['first inherited', 'b inherited'],
    )
    assert.deepEqual(done, ['a', 'b 1'])
  })

  test('a refresh creates a run that executes no step if only the return value of the function differs', async () => {
    const { done } = ledger()
    const body =
      (end: (a: number) => number): Body =>
      async (flow) =>
        end(await flow.step('a', { effect: 'read' }, () => done.push('a')))
    const store = newStore()
    await flowOf((flow) => body((a) => a)(flow), store).kickoff({ id: 'r' })
    const result = await flowOf((flow) => body((a) => a * 10)(flow), store)
      .run('r')
      .refresh()
    assert.deepEqual([result.runId === 'r', result.output, done], [false, 10, ['a']])
  })

  test('a refresh of a flow executes a child run whose crew has changed', async () => {
    const store = newStore()
    const model = scriptedModel([{ when: /.*/, reply: 'said' }])
    const crew = (words: string) =>
      new Crew({
        name: 'c',
        logger: quiet,
        tasks: [new Task({ name: 'say', description: words, agent: new Agent({ role: 'A', goal: 'g', model }) })],
      })
    const body =
      (words: string): Body =>
      async (flow) =>
        (await flow.run(crew(words))).raw
    await flowOf(body('Say it'), store).kickoff({ id: 'r' })
    assert.equal((await flowOf(body('Say it'), store).run('r').refresh()).runId, 'r')
    const result = await flowOf(body('Say it louder'), store).run('r').refresh()
    assert.notEqual(result.runId, 'r')
    assert.equal(model.calls.length, 2)
  })
})

describe('the plan of a flow', () => {
  test('the plan of a kickoff names the first steps, that of a resume what is kept and what comes next', async () => {
    const { done } = ledger()
    const work = flowOf(async (flow) => {
      await flow.step('a', { effect: 'read' }, () => done.push('a'))
      await flow.ask('go', 'Go?')
      return flow.step('b', { effect: 'read' }, () => done.push('b'))
    })
    const before = await work.plan({ of: 'kickoff' })
    assert.deepEqual(before.execute, ['a'])
    assert.deepEqual(done, [])
    await work.kickoff({ id: 'r' })
    const next = await work.run('r').plan({ of: 'resume' })
    assert.deepEqual(
      next.tasks.map(({ task, action, reasons }) => [task, action, ...reasons]),
      [
        ['a', 'inherit', 'already recorded'],
        ['go', 'execute', 'it waits for an answer'],
      ],
    )
    assert.equal(next.open, true)
    // a wait costs nothing, so the estimate is complete
    assert.deepEqual([next.estimate.cost, next.estimate.unknown], [0, []])
    await work.run('r').answer('q1', { decision: 'answer', value: 'yes' })
    assert.match(String(await work.run('r').plan({ of: 'resume' })), /go +it was answered; no model calls$/m)
  })

  test('the plan of a replay of descendants tells which results are kept if their inputs come out equal', async () => {
    const work = flowOf(async (flow) => {
      const a = await flow.step('a', { effect: 'read' }, () => 1)
      await flow.step('b', { input: a, effect: 'read' }, () => 2)
      await flow.step('c', { effect: 'read' }, () => 3)
    })
    await work.kickoff({ id: 'r' })
    const { tasks } = await work.run('r').plan({ of: 'fork', from: 'a', only: 'descendants' })
    assert.deepEqual(
      tasks.map(({ task, reasons }) => [task, ...reasons]),
      [
        ['a', 'the new run starts here'],
        ['b', 'it was requested after a', 'kept if its input comes out equal'],
        ['c', 'it was requested after a'],
      ],
    )
  })

  test('the plan of a flow warns if the function fails, or waits for something other than a step', async () => {
    const planOf = async (body: Body): Promise<[readonly string[], boolean]> => {
      const { warnings, open } = await flowOf(body).plan({ of: 'kickoff' })
      return [warnings, open]
    }
    const fails = planOf(async () => {
      throw new Error('there is no n')
    })
    const waits = planOf(() => new Promise(() => {}))
    assert.deepEqual(await fails, [['flow f fails: there is no n'], false])
    assert.deepEqual(await waits, [['flow f waits for something that is not a step; what follows is unknown'], true])
  })

  test('a flow refuses to start a run outside of its steps', async () => {
    const inner = new Flow({ name: 'inner', store: newStore(), logger: quiet, run: async () => 1 })
    const { logger } = listening()
    const work = new Flow({
      name: 'f',
      store: newStore(),
      logger,
      run: async () => (await inner.kickoff()).output,
    })
    await assert.rejects(work.kickoff(), /flow f starts a run of inner outside of its steps.*flow\.run\(crew, inputs\)/)
  })
})
