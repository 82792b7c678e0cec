// Shared by the tests of the examples: a model server on loopback that counts requests, and real processes.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isChatCompletionBody, LLMock, type FixtureFileEntry } from '@copilotkit/aimock'
import { bundle } from '../support/bundle.ts'
import { openStore } from '../../src/stores/open-store.ts'

export const root = join(import.meta.dirname, '../..')

export interface Model extends AsyncDisposable {
  /** The settings of a process that uses the model: a key and a base URL. */
  readonly environment: { readonly OPENAI_API_KEY: string; readonly OPENAI_BASE_URL: string }
  /** The first line of what each request asks, oldest first, by the server's own journal: "Task: Write a note". */
  asked(): string[]
  /** The whole of it. */
  messages(): string[]
  /** The newest answer wins. */
  answer(fixture: FixtureFileEntry): void
  /** Refuses the next request. */
  fail(status: number, message: string): void
  /** Leaves the next request that says this without an answer until `release`. */
  hold(userMessage: string): { readonly arrived: Promise<void>; release(): void }
}

/** Answers from fixtures of an example (`claims.json`) or from the given ones. */
export async function openModel(fixtures: string | FixtureFileEntry[]): Promise<Model> {
  const mock = new LLMock({ host: '127.0.0.1', port: 0 })
  if (typeof fixtures === 'string') mock.loadFixtureFile(join(root, 'examples', fixtures))
  else mock.addFixturesFromJSON(fixtures)
  await mock.start()
  const messages = (): string[] =>
    mock.getRequests().map(({ body }) => {
      const last = isChatCompletionBody(body)
        ? body.messages.findLast((message) => message.role === 'user')?.content
        : undefined
      return typeof last === 'string' ? last : JSON.stringify(last)
    })
  return {
    environment: { OPENAI_API_KEY: 'test-key-6f1d', OPENAI_BASE_URL: `${mock.url}/v1` },
    messages,
    asked: () => messages().map((text) => text.split('\n')[0] ?? ''),
    answer({ match, response }) {
      mock.prependFixture({ match, response: response as { content: string } })
    },
    fail: (status, message) => void mock.nextRequestError(status, { message }),
    hold(userMessage) {
      const { promise: arrived, resolve: arrive } = Promise.withResolvers<void>()
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      let held = false
      mock.prependFixture({
        match: { userMessage, predicate: () => !held },
        async response() {
          held = true
          arrive()
          await released
          return { content: 'too late' }
        },
      })
      return { arrived, release }
    },
    [Symbol.asyncDispose]: () => mock.stop(),
  }
}

export interface Ended {
  readonly code: number | null
  readonly signal: string | null
  readonly stdout: string
  readonly stderr: string
}

export interface Started {
  readonly child: ChildProcess
  readonly ended: Promise<Ended>
}

/** What one process has compiled the others read. */
const compiled = { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), 'reprise-compiled') }

/** Starts a program of the checkout in a folder. Of the variables that Reprise reads, only the given ones are set. */
export function start(file: string, args: readonly string[], cwd: string, environment: object): Started {
  return startNode(['--conditions=reprise-source', join(root, file), ...args], cwd, { ...compiled, ...environment })
}

function startNode(args: readonly string[], cwd: string, environment: object): Started {
  const child = spawn(process.execPath, args, {
    cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'], HOME: cwd, ...environment },
  })
  const output = { stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output.stderr += text))
  const ended = once(child, 'close').then(([code, signal]) => ({
    code: code as number | null,
    signal: signal as string | null,
    ...output,
  }))
  return { child, ended }
}

export function run(file: string, args: readonly string[], cwd: string, environment: object): Promise<Ended> {
  return start(file, args, cwd, environment).ended
}

/** The program in one piece, which starts in half the time: for tests that start it again and again. */
export async function startBundled(
  file: string,
  args: readonly string[],
  cwd: string,
  environment: object,
): Promise<Started> {
  const program = await bundle(join(root, file))
  return startNode([program.file, ...args], cwd, { ...program.variables, ...environment })
}

export async function runBundled(...given: Parameters<typeof startBundled>): Promise<Ended> {
  return (await startBundled(...given)).ended
}

/** A run's lines as they are in the store, byte for byte. */
export async function linesOf(url: string, runId: string): Promise<string[]> {
  const store = await openStore(url)
  try {
    const lines: string[] = []
    for await (const { seq, bytes } of store.read(runId)) lines.push(`${seq} ${Buffer.from(bytes).toString('base64')}`)
    return lines
  } finally {
    await store.close()
  }
}

/** Ids of runs, oldest first. */
export async function runsIn(url: string): Promise<string[]> {
  const store = await openStore(url)
  try {
    const { rows } = await store.list({}, { limit: 100 })
    return rows.map((row) => row.run).toReversed()
  } finally {
    await store.close()
  }
}
