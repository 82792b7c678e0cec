// The OpenTelemetry spans of a run, each under its parent, without message contents.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { context, SpanStatusCode, trace } from '@opentelemetry/api'
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import {
  Agent,
  Crew,
  Task,
  tool,
  type AgentOptions,
  type CrewOptions,
  type Effect,
  type TaskOptions,
  type Tool,
} from 'reprise'
import { z } from 'zod'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel, type ScriptEntry } from '../../../src/testing/scripted-model.ts'
import { dyingRightAfter, entriesOf, newStore } from '../../engine/support.ts'
import { environmentOf } from '../../models/support.ts'
import type { TelemetryOptions, Tracer } from '../../../src/crew/telemetry/telemetry.ts'

function recorder() {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans()
  return {
    tracer: provider.getTracer('test'),
    spans,
    names: () => spans().map((span) => span.name),
    find(name: string): ReadableSpan {
      const found = spans().filter((span) => span.name === name)
      assert.equal(found.length, 1, `one span ${name} among ${this.names().join()}`)
      return found[0] as ReadableSpan
    },
    /** Each span as `parent > name at path`, sorted. */
    tree(): string[] {
      const name = (id: string | undefined) => spans().find((span) => span.spanContext().spanId === id)?.name ?? ''
      return spans()
        .map((span) => {
          const path = span.attributes['reprise.path']
          return `${name(span.parentSpanContext?.spanId)} > ${span.name}${path === undefined ? '' : ` at ${String(path)}`}`
        })
        .toSorted()
    },
    everything: () =>
      JSON.stringify(spans().map(({ name, attributes, status, events }) => [name, attributes, status, events])),
    forget: () => exporter.reset(),
  }
}

function lookingUp(run: (input: { number: string }) => unknown, effect: Effect = 'read'): Tool {
  return tool({ name: 'lookup', description: 'Look it up', effect, input: z.object({ number: z.string() }), run })
}
const lookup = lookingUp(({ number }) => `holder of ${number}`)
const quiet = { info() {}, warn() {} }

interface Scene extends Partial<CrewOptions> {
  readonly telemetry?: true | TelemetryOptions
  readonly script?: readonly ScriptEntry[]
  readonly tools?: readonly Tool[]
  readonly agent?: Partial<AgentOptions>
  readonly task?: Partial<TaskOptions>
}

/** Task facts looks something up, task note follows. */
function claims({ script = [], tools = [lookup], agent: more, task, ...options }: Scene) {
  const model = scriptedModel([
    ...script,
    { when: 'Task: Facts', calls: [{ tool: 'lookup', input: { number: 'P-77' } }], usage: { input: 10, output: 4 } },
    { when: 'Task: Facts', reply: 'the facts', usage: { input: 20, output: 5 } },
    { when: 'Task: Note', reply: 'the note', usage: { input: 30, output: 6 } },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'g', model, tools, maxRetries: 0, ...more })
  const facts = new Task({ name: 'facts', description: 'Facts', agent, ...task })
  const note = new Task({ name: 'note', description: 'Note', agent })
  return new Crew({ name: 'claims', tasks: [facts, note], store: memoryStore(), logger: quiet, ...options })
}

describe('the spans of a run', () => {
  test('nest by run, attempt, and model or tool call', async () => {
    const record = recorder()
    await claims({ telemetry: { tracer: record.tracer } }).kickoff({ id: 'r' })
    assert.deepEqual(record.tree(), [
      ' > invoke_workflow claims',
      'invoke_agent Clerk > chat script at facts#1/1',
      'invoke_agent Clerk > chat script at facts#1/2',
      'invoke_agent Clerk > chat script at note#1/1',
      'invoke_agent Clerk > execute_tool lookup at facts#1/1.0',
      'invoke_workflow claims > invoke_agent Clerk at facts#1',
      'invoke_workflow claims > invoke_agent Clerk at note#1',
    ])
    assert.equal(new Set(record.spans().map((span) => span.spanContext().traceId)).size, 1)
  })

  test('of parallel tasks are each under their own task, without a context manager', async () => {
    const record = recorder()
    const both = Promise.withResolvers<void>()
    let under = 0
    const meet = tool({
      name: 'meet',
      description: 'Waits for the other',
      effect: 'read',
      input: z.object({}),
      run: async () => {
        under += 1
        if (under === 2) both.resolve()
        await both.promise
        return 'met'
      },
    })
    const model = scriptedModel([
      { when: 'Task:', calls: [{ tool: 'meet', input: {} }] },
      { when: 'Task:', reply: 'done' },
    ])
    const tasks = ['a', 'b'].map((name) => {
      const agent = new Agent({ role: `agent ${name}`, goal: 'g', model, tools: [meet] })
      return new Task({ name, description: `do ${name}`, agent, context: [] })
    })
    const crew = new Crew({
      name: 'beside',
      process: 'parallel',
      tasks,
      store: memoryStore(),
      telemetry: { tracer: record.tracer },
    })
    await crew.kickoff()
    assert.deepEqual(record.tree(), [
      ' > invoke_workflow beside',
      ...['a', 'b'].flatMap((name) => [
        `invoke_agent agent ${name} > chat script at ${name}#1/1`,
        `invoke_agent agent ${name} > chat script at ${name}#1/2`,
        `invoke_agent agent ${name} > execute_tool meet at ${name}#1/1.0`,
      ]),
      'invoke_workflow beside > invoke_agent agent a at a#1',
      'invoke_workflow beside > invoke_agent agent b at b#1',
    ])
  })

  test('of the kickoff of an agent are those of its crew', async () => {
    const record = recorder()
    const warnings: string[] = []
    const tracer: Tracer = record.tracer
    const clerk = new Agent({ role: 'Clerk', goal: 'g', model: scriptedModel([{ when: 'Why', reply: 'Because.' }]) })
    const logger = { info() {}, warn: (words: string) => void warnings.push(words) }
    await clerk.kickoff('Why?', { store: memoryStore(), telemetry: { tracer }, logger })
    assert.deepEqual(record.tree(), [
      ' > invoke_workflow agent Clerk',
      'invoke_agent Clerk > chat script at answer#1/1',
      'invoke_workflow agent Clerk > invoke_agent Clerk at answer#1',
    ])
    assert.deepEqual(warnings, [])
  })

  test('of a function name no agent and no model', async () => {
    const record = recorder()
    const tasks = [new Task({ name: 'sum', effect: 'read', run: () => 2 })]
    await new Crew({ name: 'sums', tasks, store: memoryStore(), telemetry: { tracer: record.tracer } }).kickoff()
    const { attributes } = record.find('execute_tool sum')
    assert.equal(attributes['gen_ai.tool.name'], 'sum')
    for (const name of ['gen_ai.agent.name', 'gen_ai.tool.call.id']) assert.equal(attributes[name], undefined)
  })

  test('follow the conventions, and contain no contents', async () => {
    const record = recorder()
    const crew = claims({
      telemetry: { tracer: record.tracer },
      agent: { settings: { temperature: 0.5, maxOutputTokens: 100, stopSequences: ['secret stop'] } },
    })
    await crew.kickoff({ id: 'r' })
    const [first] = record.spans().filter((span) => span.name === 'chat script')
    assert.equal(first?.kind, 2)
    assert.deepEqual(first.attributes, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.agent.name': 'Clerk',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'script',
      'gen_ai.request.temperature': 0.5,
      'gen_ai.request.max_tokens': 100,
      'gen_ai.response.model': 'script',
      'gen_ai.response.finish_reasons': ['tool-calls'],
      'gen_ai.usage.input_tokens': 10,
      'gen_ai.usage.output_tokens': 4,
      'gen_ai.conversation.id': 'r',
      'reprise.model.tries': 1,
      'reprise.path': 'facts#1/1',
      'reprise.run.id': 'r',
    })
    const called = record.find('execute_tool lookup')
    assert.equal(called.kind, 0)
    const { 'gen_ai.tool.call.id': id, ...attributes } = called.attributes
    assert.match(String(id), /^call_/)
    assert.deepEqual(attributes, {
      'gen_ai.operation.name': 'execute_tool',
      'gen_ai.tool.name': 'lookup',
      'gen_ai.tool.type': 'function',
      'gen_ai.agent.name': 'Clerk',
      'gen_ai.conversation.id': 'r',
      'reprise.path': 'facts#1/1.0',
      'reprise.run.id': 'r',
      'reprise.tool.called': true,
      'reprise.tool.effect': 'read',
    })
    const attempt = record.spans().find((span) => span.attributes['reprise.path'] === 'facts#1')
    assert.deepEqual(attempt?.attributes, {
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.agent.name': 'Clerk',
      'gen_ai.provider.name': 'scripted',
      'gen_ai.request.model': 'script',
      'gen_ai.conversation.id': 'r',
      'reprise.attempt.outcome': 'accepted',
      'reprise.path': 'facts#1',
      'reprise.run.id': 'r',
      'reprise.task.id': crew.tasks[0]?.id,
      'reprise.task.name': 'facts',
    })
    assert.deepEqual(record.find('invoke_workflow claims').attributes, {
      'gen_ai.operation.name': 'invoke_workflow',
      'gen_ai.workflow.name': 'claims',
      'gen_ai.conversation.id': 'r',
      'reprise.run.id': 'r',
      'reprise.run.life': 1,
      'reprise.run.resumed': false,
      'reprise.run.status': 'completed',
    })
    assert.doesNotMatch(record.everything(), /P-77|holder of|the facts|the note|secret stop|Task:/)
  })

  test('have the conventional provider names, and the model that answered', async () => {
    const record = recorder()
    const model = scriptedModel(
      [
        { when: 'Task: Facts', reply: 'x' },
        { when: 'Task: Note', reply: 'y' },
      ],
      { name: 'gemini-9' },
    )
    const dated: typeof model = {
      ...model,
      provider: 'google.generative-ai',
      doGenerate: async (request) => ({ ...(await model.doGenerate(request)), response: { modelId: 'gemini-9-0815' } }),
    }
    await claims({ telemetry: { tracer: record.tracer }, agent: { model: dated } }).kickoff()
    const chat = record.spans().find((span) => span.name === 'chat gemini-9')
    assert.equal(chat?.attributes['gen_ai.provider.name'], 'gcp.gemini')
    assert.equal(chat.attributes['gen_ai.response.model'], 'gemini-9-0815')
  })
})

describe('a failure', () => {
  test('in a model is on its call, its attempt and its run, as a status without a message', async () => {
    const record = recorder()
    const script = [{ when: 'Task: Note', error: { status: 500, message: 'private words' } }]
    const crew = claims({ telemetry: { tracer: record.tracer }, script, agent: { maxRetries: 0 } })
    await assert.rejects(crew.kickoff({ id: 'r' }), { code: 'MODEL_FAILED' })
    const at = (path: string | undefined) => record.spans().find((span) => span.attributes['reprise.path'] === path)
    assert.deepEqual(
      ['note#1/1', 'note#1', undefined].map((path) => [at(path)?.attributes['error.type'], at(path)?.status]),
      [
        ['500', { code: 2 }],
        ['MODEL_FAILED', { code: 2 }],
        ['MODEL_FAILED', { code: 2 }],
      ],
    )
    assert.equal(at('note#1/1')?.attributes['reprise.model.tries'], 1)
    assert.equal(at(undefined)?.attributes['reprise.run.status'], 'failed')
    assert.equal(at('facts#1')?.status.code, 0)
    assert.doesNotMatch(record.everything(), /private words/)
  })

  test('in a tool is on its call alone', async () => {
    const record = recorder()
    const broken = lookingUp(() => Promise.reject(new Error('private words')))
    await claims({ telemetry: { tracer: record.tracer }, tools: [broken] }).kickoff()
    assert.equal(record.find('execute_tool lookup').attributes['error.type'], 'tool_error')
    assert.deepEqual(
      record
        .spans()
        .filter((span) => span.status.code === SpanStatusCode.ERROR)
        .map((span) => span.name),
      ['execute_tool lookup'],
    )
    assert.doesNotMatch(record.everything(), /private words/)
  })

  test('by a stop in the middle of a tool call ends all spans of the run', async () => {
    const record = recorder()
    const stop = new AbortController()
    const slow = lookingUp(() => {
      stop.abort()
      return new Promise(() => {})
    })
    const result = await claims({ telemetry: { tracer: record.tracer }, tools: [slow] }).kickoff({
      signal: stop.signal,
    })
    assert.equal(result.status, 'suspended')
    assert.deepEqual(
      record.spans().map((span) => [span.name, span.attributes['error.type']]),
      [
        ['chat script', undefined],
        ['execute_tool lookup', 'abandoned'],
        ['invoke_agent Clerk', 'stopped'],
        ['invoke_workflow claims', undefined],
      ],
    )
    assert.equal(record.find('invoke_workflow claims').attributes['reprise.run.suspended'], 'stopped')
  })

  test('of an answer ends its attempt, and the next one has its own span', async () => {
    const record = recorder()
    const script = [{ when: 'not accepted', reply: 'better' }]
    const guardrails = function polite({ raw }: { raw: string }) {
      return raw === 'better' || 'no'
    }
    await claims({ telemetry: { tracer: record.tracer }, script, task: { guardrails } }).kickoff()
    const attempts = record.spans().filter((span) => span.attributes['reprise.task.name'] === 'facts')
    assert.deepEqual(
      attempts.map(({ attributes, status }) => [
        attributes['reprise.path'],
        attributes['reprise.attempt.outcome'],
        attributes['reprise.attempt.refused_by'],
        attributes['error.type'],
        status.code,
      ]),
      [
        ['facts#1', 'refused', 'polite', 'OUTPUT_REFUSED', 2],
        ['facts#2', 'accepted', undefined, undefined, 0],
      ],
    )
  })
})

test('a guardrail judged by a model is a model call of the attempt', async () => {
  const record = recorder()
  const script = [{ when: 'The rule:', reply: { accept: true, reason: '' } }]
  await claims({ telemetry: { tracer: record.tracer }, script, task: { guardrails: 'It is polite' } }).kickoff()
  assert.ok(record.tree().includes('invoke_agent Clerk > chat script at facts#1/2/guardrail-1#1/1'))
  const judging = record.spans().find((span) => String(span.attributes['reprise.path']).includes('guardrail'))
  assert.equal(judging?.attributes['gen_ai.output.type'], 'json')
})

describe('a tool call that is not made', () => {
  test('because its input is refused has a span that says so', async () => {
    const record = recorder()
    const script = [{ when: 'Task: Facts', after: 0, calls: [{ tool: 'lookup', input: { number: 7 } }] }]
    await claims({ telemetry: { tracer: record.tracer }, script }).kickoff()
    const refused = record.spans().find((span) => span.attributes['reprise.tool.called'] === false)
    assert.equal(refused?.attributes['error.type'], 'not_called')
    assert.equal(refused.attributes['reprise.tool.source'], undefined)
  })

  test('because its result is recorded has a span with that source, as a child of its attempt', async () => {
    const record = recorder()
    const once = lookingUp(() => 'filed', 'once')
    const crew = claims({ telemetry: { tracer: record.tracer }, tools: [once] })
    await crew.kickoff({ id: 'r' })
    record.forget()
    const { runId } = await crew.replay('facts', { runId: 'r' })
    const { attributes, status } = record.find('execute_tool lookup')
    assert.equal(attributes['reprise.tool.called'], false)
    assert.equal(attributes['reprise.tool.source'], 'recorded')
    assert.equal(status.code, 0)
    assert.ok(record.tree().includes('invoke_agent Clerk > execute_tool lookup at facts#1/1.0'))
    const run = record.find('invoke_workflow claims').attributes
    assert.equal(run['reprise.run.id'], runId)
    assert.equal(run['reprise.run.parent'], 'r')
    assert.equal(run['reprise.run.resumed'], false)
  })
})

describe('a resume', () => {
  test('makes no spans for read-back steps, and one of its own for the run', async () => {
    const record = recorder()
    const store = newStore()
    const dying = dyingRightAfter(store, 'tool.returned')
    const telemetry = { tracer: record.tracer }
    await assert.rejects(claims({ telemetry, store: dying }).kickoff({ id: 'r' }))
    // the model was asked before the result of the tool was on disk, and its reply is lost
    assert.deepEqual(record.names(), [
      'chat script',
      'execute_tool lookup',
      'chat script',
      'invoke_agent Clerk',
      'invoke_workflow claims',
    ])
    record.forget()
    await claims({ telemetry, store }).resume('r')
    assert.deepEqual(record.tree(), [
      ' > invoke_workflow claims',
      'invoke_agent Clerk > chat script at facts#1/2',
      'invoke_agent Clerk > chat script at note#1/1',
      'invoke_workflow claims > invoke_agent Clerk at facts#1',
      'invoke_workflow claims > invoke_agent Clerk at note#1',
    ])
    const { attributes } = record.find('invoke_workflow claims')
    assert.equal(attributes['reprise.run.id'], 'r')
    assert.equal(attributes['reprise.run.resumed'], true)
    assert.equal(attributes['reprise.run.life'], 2)
    record.forget()
    await claims({ telemetry, store }).kickoff({ id: 'r' })
    assert.deepEqual(record.names(), [], 'a completed run is only read')
  })

  test('of a suspended run is visible on its own span', async () => {
    const record = recorder()
    const crew = claims({ telemetry: { tracer: record.tracer } })
    await crew.kickoff({ id: 'r', through: 'facts' })
    const { attributes, status } = record.find('invoke_workflow claims')
    assert.deepEqual(
      [attributes['reprise.run.status'], attributes['reprise.run.suspended'], status.code],
      ['suspended', 'through', 0],
    )
    record.forget()
    await crew.resume('r')
    assert.equal(record.names().filter((name) => name === 'invoke_agent Clerk').length, 1)
  })
})

describe('message contents', () => {
  const key = 'sk-secret-4711-do-not-tell'

  test('are in the spans on request, in the form of the conventions and without credentials', async () => {
    using _ = environmentOf({ OPENAI_API_KEY: 'environment-key-0815' })
    const record = recorder()
    const leaking = lookingUp(() => ({
      api_key: 'abcdef123456',
      text: `Bearer ${key}`,
      url: 'see https://a.example, or mail b@example.org',
    }))
    const script = [
      {
        when: 'Task: Facts',
        after: 0,
        calls: [{ tool: 'lookup', input: { number: 'P-77 environment-key-0815' } }],
      },
      { when: 'Task: Facts', reply: 'the facts' },
    ]
    await claims({ telemetry: { tracer: record.tracer, captureContent: true }, script, tools: [leaking] }).kickoff()
    const read = (path: string, name: string): unknown =>
      JSON.parse(String(record.spans().find((span) => span.attributes['reprise.path'] === path)?.attributes[name]))
    assert.deepEqual(read('facts#1/1.0', 'gen_ai.tool.call.arguments'), { number: 'P-77 [redacted]' })
    const result = {
      api_key: '[redacted]',
      text: 'Bearer [redacted]',
      url: 'see https://a.example, or mail b@example.org',
    }
    assert.deepEqual(read('facts#1/1.0', 'gen_ai.tool.call.result'), result)
    const [told] = read('facts#1/2', 'gen_ai.system_instructions') as { type: string; content: string }[]
    assert.match(told?.content ?? '', /Clerk/)
    const [asked, calls, results] = read('facts#1/2', 'gen_ai.input.messages') as {
      role: string
      parts: { [name: string]: unknown }[]
    }[]
    assert.match(String(asked?.parts[0]?.['content']), /Task: Facts/)
    const id = calls?.parts[0]?.['id']
    assert.deepEqual(calls, {
      role: 'assistant',
      parts: [{ type: 'tool_call', id, name: 'lookup', arguments: { number: 'P-77 [redacted]' } }],
    })
    assert.deepEqual(results, { role: 'tool', parts: [{ type: 'tool_call_response', id, response: result }] })
    assert.deepEqual(read('facts#1/2', 'gen_ai.output.messages'), [
      { role: 'assistant', parts: [{ type: 'text', content: 'the facts' }], finish_reason: 'stop' },
    ])
    assert.doesNotMatch(record.everything(), /4711|0815|abcdef/)
  })

  test('include the messages of failures, without credentials', async () => {
    const record = recorder()
    const script = [{ when: 'Task: Facts', error: { status: 401, message: `bad key ${key}` } }]
    const crew = claims({ telemetry: { tracer: record.tracer, captureContent: true }, script })
    await assert.rejects(crew.kickoff())
    assert.match(record.find('chat script').status.message ?? '', /HTTP 401: bad key \[redacted\]/)
    assert.doesNotMatch(record.everything(), /4711/)
  })
})

describe("the user's own code", () => {
  test('sees the current span, and the span around the run is its parent', async () => {
    const manager = new AsyncLocalStorageContextManager().enable()
    assert.ok(context.setGlobalContextManager(manager))
    try {
      const record = recorder()
      const own = lookingUp(async () => {
        await Promise.resolve()
        record.tracer.startSpan('query').end()
        return 'x'
      })
      const crew = claims({
        telemetry: { tracer: record.tracer },
        tools: [own],
        onTask: () => record.tracer.startSpan('callback').end(),
      })
      const request = record.tracer.startSpan('request')
      await context.with(trace.setSpan(context.active(), request), () => crew.kickoff())
      request.end()
      const tree = record.tree()
      for (const line of [
        'execute_tool lookup > query',
        'invoke_workflow claims > callback',
        'request > invoke_workflow claims',
      ])
        assert.ok(tree.includes(line), `${line} in ${tree.join('\n')}`)
    } finally {
      context.disable()
    }
  })

  test('uses the global tracer with telemetry: true', async () => {
    const exporter = new InMemorySpanExporter()
    trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] }))
    try {
      await claims({ telemetry: true }).kickoff()
      assert.equal(exporter.getFinishedSpans().length, 7)
      assert.equal(exporter.getFinishedSpans()[0]?.instrumentationScope.name, 'reprise')
    } finally {
      trace.disable()
    }
  })
})

test('a throwing tracer changes nothing in a run', async () => {
  const warned: string[] = []
  const listen = (warning: Error): void => void warned.push(warning.message)
  process.on('warning', listen)
  const steps = async (telemetry?: TelemetryOptions) => {
    const store = memoryStore()
    await claims({ store, ...(telemetry && { telemetry }) }).kickoff({ id: 'r' })
    return (await entriesOf(store, 'r')).map(({ type, path }) => `${type} ${path}`)
  }
  const broken = (): never => {
    throw new Error('no spans today')
  }
  const ending: Tracer = {
    startSpan: () => ({ setAttributes: broken, setStatus: broken, isRecording: () => true, end: broken }),
  }
  const without = await steps()
  assert.deepEqual(await steps({ tracer: { startSpan: broken } }), without)
  assert.deepEqual(await steps({ tracer: ending }), without)
  await new Promise(setImmediate)
  process.off('warning', listen)
  const once = 'the tracer of a crew threw, and its spans are incomplete: no spans today'
  assert.deepEqual(warned, [once, once])
})

describe('without the option telemetry', () => {
  /** Kicks a crew off in a process of its own, and prints what the package of OpenTelemetry was asked for. */
  function inProcess(telemetry: string, before = ''): { readonly stdout: string; readonly stderr: string } {
    const code = `
      import { registerHooks } from 'node:module'
      const seen = []
      registerHooks({ resolve(name, context, next) {
        if (name.startsWith('@opentelemetry/')) { seen.push(name); ${before} }
        return next(name, context)
      } })
      const { Agent, Crew, Task } = await import('reprise')
      const { scriptedModel } = await import('reprise/testing')
      const agent = new Agent({ role: 'A', goal: 'g', model: scriptedModel([{ when: 'Task', reply: 'done' }]) })
      const crew = new Crew({ tasks: [new Task({ name: 't', description: 'd', agent })], store: 'memory:' ${telemetry} })
      const said = await crew.kickoff().then(String, (error) => error.code + ': ' + error.message)
      console.log(said, seen.join())`
    return spawnSync(process.execPath, ['--conditions=reprise-source', '--input-type=module', '-e', code], {
      encoding: 'utf8',
    })
  }

  test('nothing of OpenTelemetry is loaded, and with it only the interface', () => {
    assert.equal(inProcess('').stdout, 'done \n')
    const { stdout, stderr } = inProcess(', telemetry: true')
    assert.match(stdout, /^done @opentelemetry\/api\n$/, stderr)
  })

  test('a missing package is named before a run is created', () => {
    const missing = "throw Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' })"
    const { stdout, stderr } = inProcess(', telemetry: true', missing)
    assert.match(stdout, /^CREW_INVALID: telemetry needs a package: run npm install @opentelemetry\/api /, stderr)
    assert.equal(inProcess('', missing).stdout, 'done \n')
  })
})

test('an invalid telemetry is refused when the crew is made', () => {
  for (const [telemetry, words] of [
    [false, /telemetry of crew "claims" is false; give true or/],
    [{ captureContents: true }, /telemetry has no option "captureContents"; did you mean captureContent\?/],
    [{ captureContent: 'yes' }, /captureContent of telemetry is "yes"; give true or false/],
    [{ tracer: {} }, /tracer of telemetry is an object; give an OpenTelemetry tracer/],
    [{ tracer: null }, /tracer of telemetry is null/],
  ] as const) {
    assert.throws(() => claims({ telemetry: telemetry as never }), {
      code: words.source.includes('no option') ? 'OPTION_UNKNOWN' : 'OPTION_INVALID',
      message: words,
    })
  }
})
