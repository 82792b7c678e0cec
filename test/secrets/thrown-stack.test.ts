// Where the user's own code threw: which part of a stack is kept, where it is recorded, and which mistakes are logged.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, Crew, RepriseError, Task, tool } from 'reprise'
import { z } from 'zod'
import { thrownStack } from '../../src/secrets/thrown-stack.ts'
import { scriptedModel } from '../../src/testing/scripted-model.ts'
import { dyingStore, entriesOf, newStore, orDeath } from '../engine/support.ts'

const src = join(process.cwd(), 'src')
const stacked = (...frames: readonly string[]): Error =>
  Object.assign(new Error('no'), { stack: ['Error: no', ...frames.map((frame) => `    at ${frame}`)].join('\n') })

describe('the recorded part of a stack', () => {
  test("has the user's frames, up to where Reprise called that code, with paths below the working folder", () => {
    const error = stacked(
      `policyOf (file://${process.cwd()}/crew.ts:8:53)`,
      'process.processTicksAndRejections (node:internal/process/task_queues:104:5)',
      `async Object.run (file://${process.cwd()}/tools/lookup.ts:9:4)`,
      `async runTool (file://${src}/engine/calls/make-call.ts:80:1)`,
      `async file://${process.cwd()}/main.ts:3:1`,
    )
    assert.equal(thrownStack(error), 'at policyOf (crew.ts:8:53)\nat async Object.run (tools/lookup.ts:9:4)')
  })

  test('is empty if the stack cannot be read, and nothing is thrown', () => {
    assert.equal(thrownStack(stacked('share (file://fileserver/x/crew.ts:1:2)')), undefined)
    assert.equal(thrownStack(undefined), undefined)
    assert.equal(thrownStack({ stack: 7 }), undefined)
  })

  test("has the throwing place in a library, and nothing without a user's frame", () => {
    const library = 'parse (/x/node_modules/yaml/index.js:1:2)'
    const inner = 'compose (/x/node_modules/yaml/compose.js:3:4)'
    assert.equal(
      thrownStack(stacked(library, inner, 'Array.map (<anonymous>)', 'read (/x/crew.js:5:6)')),
      'at parse (/x/node_modules/yaml/index.js:1:2)\nat read (/x/crew.js:5:6)',
    )
    assert.equal(
      thrownStack(stacked(library, `call (${src}/models/call-model.ts:1:1)`, 'main (/x/crew.js:5:6)')),
      undefined,
    )
    assert.equal(thrownStack(stacked('internal (node:fs:1:2)')), undefined)
  })

  test('has no message that looks like frames, and no credential', () => {
    const error = new Error('a\n    at invented (/x/y.ts:1:1)\n    at made (/y.ts:2:2)')
    assert.doesNotMatch(thrownStack(error) ?? '', /invented|made/)
    const key = 'ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0eF3hI6'
    assert.equal(thrownStack(stacked(`${key} (/x/crew.ts:1:1)`)), 'at [redacted] (/x/crew.ts:1:1)')
  })

  test('has at most eight frames of three hundred characters', () => {
    const long = Array.from({ length: 50 }, (_, index) => `${'f'.repeat(1000)} (/x/crew.ts:${index + 1}:1)`)
    const lines = thrownStack(stacked(...long))?.split('\n') ?? []
    assert.deepEqual([lines.length, lines[0]?.length], [8, 300])
  })

  test('is missing for values other than errors, and for errors that lie about it', () => {
    const liar = new Error('no')
    Object.defineProperty(liar, 'stack', { get: () => assert.fail('read') })
    const odd = Object.assign(new Error('no'), { stack: 5, message: null })
    for (const thrown of [undefined, null, 'no', {}, liar, odd, new RepriseError('TASK_FAILED', 'no')])
      assert.equal(thrownStack(thrown), undefined)
  })
})

const here = /^at (?:\w+\.)?boom (?:\[as \w+\] )?\(test\/secrets\/thrown-stack\.test\.ts:\d+:\d+\)$/m

/** Fails when it is called, as code with a slip of the pen does. */
function boom(): never {
  const nothing = undefined as unknown as { readonly policy: string }
  return nothing.policy as never
}

function crewOf({ tool: tooled = {}, task = {}, crew = {} }: { tool?: object; task?: object; crew?: object }) {
  const warned: string[] = []
  const store = newStore()
  const call = tool({
    name: 'call',
    description: 'Calls',
    effect: 'read',
    input: z.object({}),
    run: () => 'called',
    ...tooled,
  } as never)
  const model = scriptedModel([
    { when: '', after: 0, calls: [{ tool: 'call', input: {} }] },
    { when: '', after: 1, reply: 'done' },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model, tools: [call] })
  const job = new Task({ name: 'job', ...('run' in task ? task : { description: 'Say it', agent, ...task }) } as never)
  const logger = { info() {}, warn: (line: string) => void warned.push(line) }
  const tasks = 'when' in task ? [new Task({ name: 'first', run: () => 1 }), job] : [job]
  return { crew: new Crew({ name: 'thrown', tasks, store, logger, ...crew }), store, warned }
}

describe('an error thrown by the user’s own code', () => {
  for (const [what, given] of Object.entries({
    'a function': { task: { run: boom } },
    'a guardrail': { task: { guardrails: [boom] } },
    'a condition': { task: { when: boom } },
    'a callback': { task: { callback: boom } },
    'the approval of a tool': { tool: { approval: boom } },
    onStep: { crew: { onStep: boom } },
    afterKickoff: { crew: { afterKickoff: boom } },
    'what makes the inputs of a crew': {
      crew: {
        tasks: [
          new Task({
            name: 'job',
            crew: new Crew({ name: 'inner', tasks: [new Task({ name: 'deep', run: () => 1 })] }),
            inputs: boom,
          }),
        ],
      },
    },
  })) {
    test(`fails the run with the place where ${what} threw, which later readers see`, async () => {
      const { crew } = crewOf(given)
      await assert.rejects(crew.kickoff({ id: 'r' }))
      const { error, tasks } = await crew.run('r').view()
      assert.match(error?.stack ?? '', here)
      if (what === 'a function') assert.match(tasks[0]?.error?.stack ?? '', here)
    })
  }

  test('in a nested crew is in the runs of both', async () => {
    const store = newStore()
    const inner = new Crew({ name: 'inner', tasks: [new Task({ name: 'deep', run: boom })], store })
    const outer = new Crew({ name: 'outer', tasks: [new Task({ name: 'job', crew: inner })], store })
    await assert.rejects(outer.kickoff({ id: 'r' }))
    assert.match((await outer.run('r').view()).error?.stack ?? '', here)
    assert.match((await inner.run('r/job#1').view()).error?.stack ?? '', here)
  })

  test('is still known if the process dies before the task has failed', async () => {
    const { crew, store } = crewOf({ task: { run: boom } })
    const dying = dyingStore(store, (types) => types.includes('tool.returned'))
    await orDeath(crew.with({ store: dying }).kickoff({ id: 'r' }))
    await assert.rejects(crew.resume('r'))
    assert.match((await crew.run('r').view()).tasks[0]?.error?.stack ?? '', here)
  })
})

describe('a mistake in a tool', () => {
  test('is logged with its place, recorded, and reported to the model without the place', async () => {
    const { crew, store, warned } = crewOf({ tool: { run: boom } })
    const result = await crew.kickoff({ id: 'r' })
    assert.match(
      warned.join('\n'),
      /^run r: tool call at job#1\/1\.0 threw TypeError: Cannot read .* at \S*boom .*\(test\/\S+\); the error went to its model$/,
    )
    const returned = (await entriesOf(store, 'r')).find((entry) => entry.type === 'tool.returned')
    assert.match(returned?.stack ?? '', here)
    assert.doesNotMatch(JSON.stringify(result.task('job').messages), /thrown-stack/)
  })

  test('is logged if its key function makes it', async () => {
    const { crew, warned } = crewOf({ tool: { effect: 'idempotent', key: boom } })
    await crew.kickoff()
    assert.match(warned.join('\n'), /key of tool call at job#1\/1\.0 threw TypeError/)
  })

  test('is neither an error thrown on purpose nor that of fetch when a server is away', async () => {
    for (const thrown of [
      new Error('no such policy'),
      new RangeError('amount'),
      new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') }),
      Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL' }),
    ]) {
      const { crew, warned } = crewOf({ tool: { run: () => Promise.reject(thrown) } })
      await crew.kickoff()
      assert.deepEqual(warned, [])
    }
  })

  test('is logged if its settle throws, whatever that is, before a person is asked', async () => {
    const settle = () => Promise.reject(new Error('the bank is closed'))
    const { crew, store, warned } = crewOf({ tool: { effect: 'once', run: () => 'paid', settle } })
    const dying = dyingStore(store, (types) => types.includes('tool.called'))
    await orDeath(crew.with({ store: dying }).kickoff({ id: 'r' }))
    assert.equal((await crew.resume('r')).status, 'suspended')
    assert.match(
      warned.join('\n'),
      /settle of tool call at job#1\/1\.0 threw the bank is closed.*; a person is asked instead/,
    )
  })
})
