// Invariant 9, against servers that repeat the key in many ways: neither the bytes of the store nor the log, the spans,
// the error or the output of the command line hold it, wherever the key came from.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { Agent, Crew, Task, type AgentOptions } from 'reprise'
import { environmentOf } from '../models/support.ts'
import { assertNowhere, storedIn } from './nowhere.ts'
import { misbehaviours, serve, streamed, type Misbehaviour } from './servers.ts'

/** A key without a well-known shape, different for each test, since the process remembers keys. */
function keyFor(title: string): string {
  return createHash('sha256').update(title).digest('base64url').slice(0, 32)
}

interface Attack {
  readonly key: string
  readonly misbehave: Misbehaviour
  readonly store: 'sqlite' | 'file'
  readonly listen?: boolean
  /** No request can be made with such an address. */
  readonly unsent?: boolean
  readonly model: (url: string, key: string) => NonNullable<AgentOptions['model']>
  readonly environment: (url: string, key: string) => { readonly [name: string]: string }
}

async function attack({
  key,
  misbehave,
  store,
  listen = false,
  unsent = false,
  model,
  environment,
}: Attack): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'reprise-attack-'))
  await using server = await serve(misbehave, key)
  using _ = environmentOf(environment(server.url, key))
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  const log: string[] = []
  const say = (line: string): void => void log.push(line)
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model: model(server.url, key), maxRetries: 0 })
  const crew = new Crew({
    name: 'attacked',
    tasks: [new Task({ name: 'job', description: 'Say it', agent })],
    store: store === 'sqlite' ? `sqlite:${join(folder, 'runs.db')}` : `file:${join(folder, 'state')}`,
    logger: { info: say, warn: say },
    telemetry: { tracer: provider.getTracer('test'), captureContent: true },
  })
  try {
    const run = await crew.kickoff().started
    const events: unknown[] = []
    const hearing = listen
      ? (async () => {
          for await (const event of run.events()) events.push(event)
        })().catch((thrown: unknown) => events.push(thrown))
      : undefined
    const thrown: unknown = await run.result().catch((reason: unknown) => reason)
    await hearing
    await crew.close()
    assert.ok(thrown instanceof Error, 'the run failed')
    assert.equal(server.requests() > 0, !unsent, 'the server was asked')
    const stored = await storedIn(folder)
    assert.match(stored, /model\.failed/, 'the failure is stored')
    const spans = exporter
      .getFinishedSpans()
      .map(({ name, attributes, status, events: said }) => [name, attributes, status, said])
    assertNowhere(key, {
      stored,
      log: log.join('\n'),
      thrown: inspect(thrown, { depth: 20 }),
      spans: inspect(spans, { depth: 20 }),
      events: inspect(events, { depth: 20 }),
    })
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const inEnvironment = {
  model: () => 'openai/m',
  environment: (url: string, key: string) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: url }),
}
const inCode = {
  model: (baseURL: string, apiKey: string) => createOpenAICompatible({ name: 'mine', baseURL, apiKey })('m'),
  environment: () => ({}),
}

function attacked(title: string, attacking: Omit<Attack, 'key'>): void {
  test(title, () => attack({ ...attacking, key: keyFor(title) }))
}

for (const [what, misbehave] of Object.entries(misbehaviours)) {
  attacked(`a key of the environment is nowhere when a server ${what}`, {
    misbehave,
    store: 'sqlite',
    ...inEnvironment,
  })
  attacked(`a key given in code is nowhere when a server ${what}`, { misbehave, store: 'file', ...inCode })
}

for (const [what, misbehave] of Object.entries(streamed)) {
  attacked(`a key is nowhere when a server ${what}`, { misbehave, store: 'sqlite', listen: true, ...inEnvironment })
}

const echo = misbehaviours['repeats the key'] as Misbehaviour

attacked('a key in the query of a base URL is nowhere', {
  misbehave: echo,
  store: 'sqlite',
  model: () => 'openai/m',
  environment: (url, key) => ({ OPENAI_BASE_URL: `${url}?key=${key}` }),
})

attacked('a password in a base URL is nowhere', {
  misbehave: echo,
  store: 'sqlite',
  model: () => 'ollama/m',
  environment: (url, key) => ({ OLLAMA_BASE_URL: url.replace('//', `//ada:${key}@`) }),
  unsent: true,
})

attacked('a key in the query that a model given in code adds is nowhere', {
  misbehave: echo,
  store: 'file',
  model: (baseURL, key) => createOpenAICompatible({ name: 'mine', baseURL, queryParams: { code: key } })('m'),
  environment: () => ({}),
})

attacked('a key in a header that a model given in code adds is nowhere', {
  misbehave: echo,
  store: 'file',
  model: (baseURL, key) => createOpenAICompatible({ name: 'mine', baseURL, headers: { 'x-gateway-token': key } })('m'),
  environment: () => ({}),
})
