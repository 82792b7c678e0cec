// A model server for the examples, which need no key: it speaks the OpenAI wire protocol on loopback, answers from a
// file of fixtures, and records every request.
import { setTimeout as wait } from 'node:timers/promises'
import { LLMock, type Fixture, type JournalEntry } from '@copilotkit/aimock'

export interface ModelServer extends AsyncDisposable {
  /** The environment variables that make a process use this server, and no other. */
  readonly environment: Readonly<Record<string, string>>
  /** Every received request, oldest first. */
  requests(): JournalEntry[]
}

/** `pace`: answer with the latency of the fixtures, so that people can follow. */
export async function openModelServer(fixtures: string, { pace = false } = {}): Promise<ModelServer> {
  const server = new LLMock({ host: '127.0.0.1', port: 0 })
  server.loadFixtureFile(fixtures)
  if (pace) {
    const loaded = [...server.getFixtures()]
    server.clearFixtures().addFixtures(loaded.map(withLatency))
  }
  await server.start()
  return {
    environment: {
      OPENAI_BASE_URL: `${server.url}/v1`,
      OPENAI_API_KEY: 'none-needed',
      REPRISE_MODEL: '',
    },
    requests: () => server.getRequests(),
    [Symbol.asyncDispose]: () => server.stop(),
  }
}

/** The server itself applies a fixture's latency only to streamed answers. */
function withLatency(fixture: Fixture): Fixture {
  const { latency = 0, response } = fixture
  if (typeof response === 'function') return fixture
  return {
    ...fixture,
    async response() {
      await wait(latency)
      return response
    },
  }
}
