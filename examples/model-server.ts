// A model server for the examples: the OpenAI wire protocol on loopback, answering from a file of fixtures, so that no key is
// needed. It records every request, so that they can be counted.
import { setTimeout as wait } from 'node:timers/promises'
import { LLMock, type Fixture, type JournalEntry } from '@copilotkit/aimock'

export interface ModelServer extends AsyncDisposable {
  /** What a process needs in its environment to talk to this server, and to nothing else. */
  readonly environment: Readonly<Record<string, string>>
  /** Every request that it saw, oldest first. */
  requests(): JournalEntry[]
}

/** `pace`: answer as slowly as the fixtures say, so that people can follow. */
export async function openModelServer(fixtures: string, { pace = false } = {}): Promise<ModelServer> {
  const server = new LLMock({ host: '127.0.0.1', port: 0 })
  server.loadFixtureFile(fixtures)
  if (pace) {
    const loaded = [...server.getFixtures()]
    server.clearFixtures().addFixtures(loaded.map(slowed))
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
function slowed(fixture: Fixture): Fixture {
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
