// Mistakes of callers from plain JavaScript, and of hurried ones: each is refused with a code and a message that names
// the thing and says what to do, before a run is made or a model called. Invariant 10.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, RepriseError, Task, tool, type ErrorCode } from 'reprise'
import { openStore } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { environmentOf } from '../../models/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

/** A value from a caller without a compiler. */
const any = (value: unknown): never => value as never

const model = scriptedModel([{ when: '', reply: 'ok' }])
const agent = new Agent({ role: 'Clerk', goal: 'Help', model })
const task = (options: object = {}): Task => new Task({ name: 'a', description: 'Do it', agent, ...options })
const logger = { info() {}, warn() {} }
const crewOf = (options: object = {}): Crew =>
  new Crew({ name: 'c', tasks: [task(), task({ name: 'b' })], store: memoryStore(), logger, ...options })
const tooled = { name: 't', description: 'd', input: z.object({}), run: () => 1 }
const soon = Promise.resolve({})

type Refusal = readonly [what: string, make: () => unknown, code: ErrorCode, message: RegExp]

const atOnce: readonly Refusal[] = [
  [
    'a name that JavaScript keeps for itself',
    () => tool({ ...tooled, name: '__proto__' }),
    'OPTION_INVALID',
    /name of a tool is "__proto__"; give 1 to 64 letters, digits, _ or -/,
  ],
  [
    'no options of a tool',
    () => tool(any(undefined)),
    'OPTION_INVALID',
    /a tool takes an object of options, not undefined/,
  ],
  ['null for a tool', () => tool(any(null)), 'OPTION_INVALID', /a tool takes an object of options, not null/],
  [
    'a promise as options',
    () => new Agent(any(soon)),
    'OPTION_INVALID',
    /an agent takes an object of options, not a Promise/,
  ],
  [
    'a Map as options',
    () => new Crew(any(new Map())),
    'OPTION_INVALID',
    /a crew takes an object of options, not a Map/,
  ],
  [
    "a version that isn't text",
    () => tool(any({ ...tooled, version: 2 })),
    'OPTION_INVALID',
    /version of tool "t" is 2; give a string/,
  ],
  [
    'tools that are not there yet',
    () => new Agent({ role: 'A', goal: 'g', tools: any(soon) }),
    'OPTION_INVALID',
    /tools of agent "A" is a Promise; give a list or a record of tools/,
  ],
  [
    'a model that is not there yet',
    () => new Agent({ role: 'A', goal: 'g', model: any(soon) }),
    'MODEL_INVALID',
    /model of agent "A" is a Promise, which isn't a language model: pass "provider\/model"/,
  ],
  [
    'null as a model',
    () => new Agent({ role: 'A', goal: 'g', model: any(null) }),
    'MODEL_INVALID',
    /model of agent "A" is null/,
  ],
  [
    'another kind of verbose',
    () => new Agent({ role: 'A', goal: 'g', verbose: any('yes') }),
    'OPTION_INVALID',
    /verbose of agent "A" is "yes"; give true or false/,
  ],
  [
    'a part of a retry',
    () => new Agent({ role: 'A', goal: 'g', maxRetries: 1.5 }),
    'OPTION_INVALID',
    /maxRetries of agent "A" is 1\.5; give a whole number of at least 0/,
  ],
  [
    'a part of an iteration',
    () => new Agent({ role: 'A', goal: 'g', maxIterations: 2.5 }),
    'OPTION_INVALID',
    /maxIterations of agent "A" is 2\.5; give a whole number of at least 1/,
  ],
  [
    'null as settings',
    () => new Agent({ role: 'A', goal: 'g', settings: any(null) }),
    'OPTION_INVALID',
    /settings of agent "A" takes an object of options, not null/,
  ],
  ...(
    [
      [{ temperature: 'hot' }, /settings\.temperature of agent "A" is "hot"; give a number/],
      [{ maxOutputTokens: -1 }, /settings\.maxOutputTokens of agent "A" is -1; give a whole number of at least 1/],
      [{ topP: 7 }, /settings\.topP of agent "A" is 7; give a number from 0 to 1/],
      [{ seed: 1.5 }, /settings\.seed of agent "A" is 1\.5; give a whole number/],
      [{ stopSequences: 'END' }, /settings\.stopSequences of agent "A" is "END"; give a list of strings/],
      [{ reasoning: 3 }, /settings\.reasoning of agent "A" is 3; give a non-empty string/],
      [
        { providerOptions: { openai: 'low' } },
        /settings\.providerOptions of agent "A".*openai: \{ reasoningEffort: 'low' \}/,
      ],
    ] as const
  ).map(([settings, message]): Refusal => [
    `a setting ${JSON.stringify(settings)}`,
    () => new Agent({ role: 'A', goal: 'g', settings: any(settings) }),
    'OPTION_INVALID',
    message,
  ]),
  [
    "an expected output that isn't text",
    () => task({ expectedOutput: 3 }),
    'OPTION_INVALID',
    /expectedOutput of task "a" is 3; give a string/,
  ],
  [
    "a version of a task that isn't text",
    () => task({ version: 2 }),
    'OPTION_INVALID',
    /version of task "a" is 2; give a string/,
  ],
  [
    'a part of a try',
    () => task({ retries: 1.5 }),
    'OPTION_INVALID',
    /retries of task "a" is 1\.5; give a whole number of at least 0/,
  ],
  ['a name that is a bigint', () => task({ name: 1n }), 'OPTION_INVALID', /name of a task is 1, which is not a string/],
  ['a name with a lone surrogate', () => task({ name: 'x\ud800' }), 'OPTION_INVALID', /contains a lone surrogate/],
  [
    'an agent that was not made',
    () => crewOf({ agents: [{ role: 'A', goal: 'g' }] }),
    'OPTION_INVALID',
    /item 1 of agents of crew "c" is an object; give an agent made with new Agent/,
  ],
  [
    'an agent of a task that was not made',
    () => task({ agent: { role: 'A', goal: 'g', maxIterations: 3 } }),
    'OPTION_INVALID',
    /agent of task "a" is an object; give an agent made with new Agent/,
  ],
  [
    'a task that was not made',
    () => crewOf({ tasks: [{ id: 'x', name: 'x', description: 'd', agent }] }),
    'OPTION_INVALID',
    /item 1 of tasks of crew "c" is an object; give a task made with new Task/,
  ],
  [
    'a context of a task that was made twice',
    () => crewOf({ tasks: [task(), task({ name: 'b', context: [task()] })] }),
    'CREW_INVALID',
    /task b has a in its context, but not the object that is in the crew: create the task once/,
  ],
  [
    'null as a manager',
    () => crewOf({ process: 'hierarchical', manager: null }),
    'MODEL_INVALID',
    /manager of crew "c" is null, which isn't a language model/,
  ],
  [
    'a manager that was not made',
    () => crewOf({ process: 'hierarchical', manager: { role: 'M', goal: 'g', maxIterations: 3 } }),
    'MODEL_INVALID',
    /manager of crew "c" is an object, which isn't a language model/,
  ],
  [
    'a store that is not open yet',
    () => crewOf({ store: openStore('memory:') }),
    'STORE_INVALID',
    /store of crew "c" is a Promise; .*await openStore/,
  ],
  ['null as a store', () => crewOf({ store: null }), 'STORE_INVALID', /store of crew "c" is null/],
  [
    'a logger that cannot log',
    () => crewOf({ logger: { log() {} } }),
    'OPTION_INVALID',
    /logger of crew "c" is an object; give \{ info, warn \}/,
  ],
  [
    'another kind of verbose of a crew',
    () => crewOf({ verbose: 1 }),
    'OPTION_INVALID',
    /verbose of crew "c" is 1; give true or false/,
  ],
  [
    'a version of a crew that not every store can find runs by',
    () => crewOf({ version: 'a\0' }),
    'OPTION_INVALID',
    /version of crew "c" is "a\\u0000"; give up to 100 characters/,
  ],
  [
    'a version of a crew that is too long',
    () => crewOf({ version: 'v'.repeat(101) }),
    'OPTION_INVALID',
    /version of crew "c" is "v+\.\.\."; give up to 100 characters/,
  ],
  [
    "a version of a crew that isn't text",
    () => crewOf({ version: 1n }),
    'OPTION_INVALID',
    /version of crew "c" is 1; give up to 100 characters/,
  ],
  [
    'prices that are not there yet',
    () => crewOf({ prices: soon }),
    'OPTION_INVALID',
    /prices of crew "c" is a Promise; give an object of models/,
  ],
  [
    'null as prices',
    () => crewOf({ prices: null }),
    'OPTION_INVALID',
    /prices of crew "c" is null; give an object of models/,
  ],
  [
    'a budget without an end',
    () => crewOf({ budget: { tokens: Number.POSITIVE_INFINITY } }),
    'OPTION_INVALID',
    /has Infinity as tokens; give a number above 0/,
  ],
  [
    'a model of a copy that is none',
    () => crewOf().with({ model: any(null) }),
    'MODEL_INVALID',
    /model of with is null/,
  ],
  [
    'a script that is none',
    () => scriptedModel(any(undefined)),
    'OPTION_INVALID',
    /a script is undefined; give a list of entries/,
  ],
]

describe('a wrong declaration is refused at once:', () => {
  for (const [what, make, code, message] of atOnce) {
    test(what, () => {
      assert.throws(
        make,
        (error) => RepriseError.isInstance(error) && error.code === code && message.test(error.message),
      )
    })
  }
})

const calls: readonly (readonly [what: string, call: (crew: Crew) => unknown, code: ErrorCode, message: RegExp])[] = [
  [
    'null for the options of a kickoff',
    (crew) => crew.kickoff(any(null)),
    'OPTION_INVALID',
    /kickoff takes an object of options, not null/,
  ],
  [
    'a controller for its signal',
    (crew) => crew.kickoff({ signal: any(new AbortController()) }),
    'OPTION_INVALID',
    /signal is an AbortController; give an AbortSignal, such as controller\.signal/,
  ],
  [
    'a text for a signal',
    (crew) => crew.resume(undefined, { signal: any('stop') }),
    'OPTION_INVALID',
    /signal is "stop"/,
  ],
  [
    'a signal of a backtest that is none',
    (crew) => crew.backtest('a', { signal: any({}) }),
    'OPTION_INVALID',
    /signal is an object/,
  ],
  [
    'an answer for the function that gives one',
    (crew) => crew.kickoff({ onQuestion: any('approve') }),
    'OPTION_INVALID',
    /onQuestion is "approve"; give a function/,
  ],
  [
    'a list of no status',
    (crew) => crew.runs({ status: any(null) }).page(),
    'OPTION_INVALID',
    /status is null; give '/,
  ],
  [
    'a run id that means the latest',
    (crew) => crew.kickoff({ id: 'latest' }),
    'OPTION_INVALID',
    /the run id is "latest"/,
  ],
  ['a run id that addresses leave out', (crew) => crew.kickoff({ id: '..' }), 'OPTION_INVALID', /the run id is "\.\."/],
  [
    'a run id that turns a text',
    (crew) => crew.kickoff({ id: 'a\u202eb' }),
    'OPTION_INVALID',
    /the run id is "a\\u202eb"/,
  ],
  ['a blank run id', (crew) => crew.kickoff({ id: '  ' }), 'OPTION_INVALID', /the run id is "  "/],
  [
    'null for the options of a plan',
    (crew) => crew.plan(any(null)),
    'OPTION_INVALID',
    /plan takes an object of options, not null/,
  ],
  [
    'a plan of something else',
    (crew) => crew.plan({ of: any('__proto__') }),
    'OPTION_INVALID',
    /of is "__proto__"; give 'fork', 'resume' or 'kickoff'/,
  ],
  [
    'null for the options of a list',
    (crew) => crew.runs(any(null)).page(),
    'OPTION_INVALID',
    /runs takes an object of options, not null/,
  ],
  [
    'a list before nothing',
    (crew) => crew.runs({ before: any(null) }).page(),
    'OPTION_INVALID',
    /before is null; give a run of the previous page, or its id/,
  ],
  [
    'a question by its number',
    (crew) => crew.run('half').answer(any(1), { decision: 'approve' }),
    'QUESTION_NOT_FOUND',
    /the question is 1; give its id/,
  ],
  [
    'outputs that are not there yet',
    (crew) => crew.fork({ outputs: any(soon) }),
    'INPUT_INVALID',
    /outputs is a Promise; give an object/,
  ],
  [
    'a task of another crew',
    (crew) => crew.replay(task({ name: 'x' })),
    'TASK_NOT_FOUND',
    /has no task "x"; it has a /,
  ],
  [
    'an answer in place of a request',
    async (crew) => crew.run('half').toResponse(any({ after: 3 })),
    'OPTION_INVALID',
    /toResponse takes a request with headers, not an object/,
  ],
  [
    'headers that are none',
    async (crew) => crew.run('half').toResponse(undefined, { headers: any('x') }),
    'OPTION_INVALID',
    /headers of toResponse is "x", which cannot be used/,
  ],
]

describe('a wrong call is refused, and nothing is spent or made:', () => {
  for (const [what, call, code, message] of calls) {
    test(what, async () => {
      const crew = crewOf()
      await crew.kickoff({ id: 'half', through: 'a' })
      const asked = model.calls.length
      await assert.rejects(
        async () => call(crew),
        (error) => RepriseError.isInstance(error) && error.code === code && message.test(error.message),
      )
      assert.equal(model.calls.length, asked)
      assert.deepEqual(
        (await crew.runs().page()).map(({ runId, status }) => `${runId} ${status}`),
        ['half stopped'],
      )
    })
  }

  test('a missing file to import, with a mistake in the options, does not end the process', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown): void => void unhandled.push(error)
    process.on('uncaughtException', note)
    try {
      await assert.rejects(crewOf().import('/nowhere/run.jsonl', any({ bogus: 1 })), { code: 'OPTION_UNKNOWN' })
      await assert.rejects(crewOf().import('/nowhere/run.jsonl'), { code: 'STORE_FAILED' })
    } finally {
      process.off('uncaughtException', note)
    }
    assert.deepEqual(unhandled, [])
  })

  test("a cancellation whose `by` isn't text", async () => {
    const run = await crewOf().kickoff().started
    await assert.rejects(run.cancel({ by: any(1n) }), {
      code: 'OPTION_INVALID',
      message: /by is 1; give a non-empty string/,
    })
    assert.equal((await run.result()).status, 'completed')
  })

  test('an answer without the words that it needs', async () => {
    const crew = crewOf({ tasks: [task({ humanInput: true })] })
    const { questions } = await crew.kickoff({ id: 'r' })
    const answer = crew.run('r').answer(questions[0]?.id ?? '', { decision: 'revise', feedback: ' ' })
    await assert.rejects(answer, { code: 'ANSWER_INVALID', message: /revise needs feedback/ })
  })

  test('a throwing function for questions is named', async () => {
    const crew = crewOf({ tasks: [task({ humanInput: true })] })
    const onQuestion = (): never => {
      throw new Error('not now')
    }
    await assert.rejects(crew.kickoff({ onQuestion }), {
      code: 'CALLBACK_FAILED',
      message: /onQuestion threw: not now/,
    })
  })
})

describe('a wrong result of user code is reported under the name of that code:', () => {
  const paying = (approval: unknown): { crew: Crew; paid: number[] } => {
    const paid: number[] = []
    const pay = tool({ ...tooled, name: 'pay', run: () => paid.push(1), approval: any(approval) })
    const script = scriptedModel([
      { when: 'Pay', calls: [{ tool: 'pay', input: {} }] },
      { when: 'Pay', reply: 'paid' },
    ])
    const payer = new Agent({ role: 'Payer', goal: 'Pay', model: script, tools: [pay] })
    return { crew: crewOf({ tasks: [task({ agent: payer, description: 'Pay' })] }), paid }
  }

  test('approval without a return value is not a refusal, and the call is not made', async () => {
    const { crew, paid } = paying(() => {})
    await assert.rejects(crew.kickoff(), {
      code: 'TASK_FAILED',
      message: /approval of tool pay returned undefined; it must return true or false/,
    })
    assert.deepEqual(paid, [])
  })

  test('approval that throws', async () => {
    const { crew, paid } = paying(() => {
      throw new Error('no rates')
    })
    await assert.rejects(crew.kickoff(), { code: 'TASK_FAILED', message: /approval of tool pay threw: no rates/ })
    assert.deepEqual(paid, [])
  })

  test('a guardrail without a name is counted, once', async () => {
    const crew = crewOf({ tasks: [task({ guardrails: [() => false] })] })
    await assert.rejects(crew.kickoff(), {
      message: /^task a failed: guardrail 1 returned false; return true, a reason/,
    })
  })

  test('a guardrail that refuses without a reason', async () => {
    const crew = crewOf({ tasks: [task({ retries: 0, guardrails: [() => ''] })] })
    await assert.rejects(crew.kickoff(), {
      code: 'OUTPUT_REFUSED',
      message: /in one try: guardrail 1 rejected it without a reason/,
    })
  })
})

test('an invalid address for models is named before a run is made', async () => {
  for (const [variable, id] of [
    ['OPENAI_BASE_URL', 'openai/x'],
    ['OLLAMA_BASE_URL', 'ollama/x'],
  ] as const) {
    using _ = environmentOf({ [variable]: 'localhost:8080', OPENAI_API_KEY: 'sk-not-a-real-key' })
    const crew = crewOf({ tasks: [task({ agent: new Agent({ role: 'A', goal: 'g', model: id }) })] })
    const words = new RegExp(`${variable} is "localhost:8080"; .* http:\\/\\/127\\.0\\.0\\.1:8080\\/v1`)
    await assert.rejects(crew.kickoff(), { code: 'MODEL_INVALID', message: words })
    assert.deepEqual(await crew.runs().page(), [])
  }
})

test('a model without a known provider is refused with its agent and task', async () => {
  const wrong = new Agent({ role: 'Clerk', goal: 'g', model: 'house-model' })
  await assert.rejects(crewOf({ tasks: [task(), task({ name: 'b', agent: wrong })] }).kickoff(), {
    code: 'MODEL_INVALID',
    message: /model "house-model" names no known provider.*\(agent Clerk, task b\)/,
  })
})

test('a plan needs no provider key, only a run does', async () => {
  using _ = environmentOf({})
  const store = memoryStore()
  const nested = (asked: typeof model | string) => {
    const clerk = new Agent({ role: 'Clerk', goal: 'Help', model: asked })
    const inner = new Crew({ name: 'inner', tasks: [task({ name: 'c', agent: clerk })] })
    return crewOf({ tasks: [task({ agent: clerk }), new Task({ name: 'b', crew: inner })], store })
  }
  await nested(model).kickoff({ id: 'r' })
  await nested(model).kickoff({ id: 'half', through: 'a' })
  const crew = nested('openai/gpt-5-mini')
  assert.deepEqual((await crew.plan({ of: 'kickoff' })).execute, ['a', 'b'])
  assert.deepEqual((await crew.plan({ of: 'resume', runId: 'half' })).execute, ['b'])
  assert.deepEqual((await crew.plan({ runId: 'r', from: 'b' })).execute, ['b'])
  const before = await crew.runs().page(10)
  const executing = [() => crew.kickoff(), () => crew.replay('a', { runId: 'r' }), () => crew.resume('half')]
  for (const call of executing) await assert.rejects(call(), { code: 'MODEL_KEY_MISSING' })
  assert.deepEqual(await crew.runs().page(10), before)
  await assert.rejects(nested('gpt').plan({ of: 'kickoff' }), { code: 'MODEL_INVALID' })
})

test('a key that no request can carry is named before a run is made, and is not shown', async () => {
  using _ = environmentOf({ OPENAI_API_KEY: 'sk-half\nsk-other' })
  const crew = crewOf({ tasks: [task({ agent: new Agent({ role: 'A', goal: 'g', model: 'openai/x' }) })] })
  await assert.rejects(crew.kickoff(), (error: RepriseError) => {
    assert.equal(error.code, 'MODEL_KEY_MISSING')
    assert.match(error.message, /OPENAI_API_KEY contains a line break/)
    assert.doesNotMatch(error.message, /sk-/)
    return true
  })
  assert.deepEqual(await crew.runs().page(), [])
})

test('an invalid store in the environment is refused with the name of the variable', async () => {
  using _ = environmentOf({ REPRISE_STORE: 'mongo://here' })
  await assert.rejects(crewOf({ store: undefined }).kickoff(), {
    code: 'STORE_INVALID',
    message: /^the store that REPRISE_STORE names: .*mongo:\/\/here/,
  })
})

test('an unknown name as long as a book is not repeated in full', async () => {
  const name = 'x'.repeat(1_000_000)
  const short = (error: Error): boolean => error.message.length < 1_000
  assert.throws(() => new Agent(any({ [name]: 1 })), short)
  await assert.rejects(crewOf().replay(name), short)
})

test('no suggestion is made for a name without a common letter', async () => {
  await assert.rejects(crewOf().replay('x'), (error: Error) => !error.message.includes('did you mean'))
})

test(
  'a store in a place where no folder can be made is refused without a wait',
  { skip: process.platform !== 'linux' },
  async () => {
    // there is a folder above it, but it takes none: Node's own recursive mkdir never comes back from there
    await assert.rejects(openStore('sqlite:/proc/nothing/here/runs.db'), {
      code: 'STORE_INVALID',
      message: /set REPRISE_STORE/,
    })
    await using folder = await temporaryFolder()
    const store = await openStore(`sqlite:${folder.path}/two/deep/runs.db`)
    await store.close()
  },
)

test('a value that is neither a store nor a URL is not opened', async () => {
  await assert.rejects(openStore(any(3)), { code: 'STORE_INVALID', message: /the store is 3/ })
})

test('an input that JSON cannot carry is described in plain words', async () => {
  const inputs = (value: unknown): Promise<unknown> => crewOf().kickoff({ inputs: { x: any(value) } })
  await assert.rejects(inputs([undefined]), { message: /inputs\.x\[0\] is undefined, which is not valid JSON/ })
  await assert.rejects(inputs(new Error('x')), { message: /inputs\.x is an Error, which/ })
})
