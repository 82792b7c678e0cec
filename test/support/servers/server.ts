// A server for tests, on loopback and a free port, in a temporary folder. It can be killed and started again with the
// same port and data, and ends with this process (supervisor.ts).
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quickFolder } from '../quick-folder.ts'
import type { ProgramKind } from './server-program.ts'

export interface ServerOptions {
  /** Sync to a disk, as in production. Default: nothing is synced, and everything is in memory if there is room. */
  readonly durable?: boolean
  /** Where to create the server's folder. */
  readonly parent?: string
  readonly settings?: { readonly [name: string]: string | number }
  /** Files next to the data folder, such as `server.key`, which only the server can read. */
  readonly files?: { readonly [name: string]: string }
  /** Environment variables, in addition to those of this process. */
  readonly env?: { readonly [name: string]: string }
}

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** The server's folder, which contains `data`. Removed on disposal. */
  readonly folder: string
  /** The server's process id, undefined while it is not running, and the end of its log. */
  look(): Promise<{ readonly pid: number | undefined; readonly log: string }>
  /** Ends the server at once: connections break, and what was not in its log is lost. */
  kill(): Promise<void>
  /** Shuts the server down as an administrator does: connections break, and nothing is lost. */
  stop(): Promise<void>
  /** Starts the server again after it was killed, was stopped or ended. A no-op while it runs. */
  start(): Promise<void>
}

export type Command = 'start' | 'kill' | 'stop' | 'look'

export interface ServerPlan {
  readonly kind: ProgramKind
  readonly parent: string
  readonly settings: { readonly [name: string]: string | number }
  readonly files: { readonly [name: string]: string }
  readonly env: { readonly [name: string]: string }
}

export interface Answer {
  readonly did: Command | 'prepare'
  readonly folder: string
  readonly password: string
  readonly port: number
  readonly pid: number | undefined
  readonly log: string
  readonly error: string | undefined
}

const kinds = {
  postgres: {
    usual: { max_connections: 200, shared_buffers: '16MB', max_wal_size: '256MB' },
    unsynced: { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'on' },
    url: (password: string, port: number) => `postgres://reprise:${password}@127.0.0.1:${port}/postgres`,
  },
  redis: {
    usual: { appendonly: 'yes', appendfsync: 'always', save: '' },
    // syncing to memory costs nothing
    unsynced: {},
    url: (password: string, port: number) => `redis://:${password}@127.0.0.1:${port}`,
  },
  // its addresses are in its configuration (restate-cluster.ts)
  restate: { usual: {}, unsynced: {}, url: () => '' },
} as const

/** Rejects with the reason if the server cannot be started. */
export async function startServer(
  kind: ProgramKind,
  { durable = false, ...given }: ServerOptions = {},
): Promise<TestServer> {
  const { usual, unsynced, url } = kinds[kind]
  const plan: ServerPlan = {
    kind,
    parent: given.parent ?? (durable ? tmpdir() : quickFolder()),
    settings: { ...usual, ...(durable ? {} : unsynced), ...given.settings },
    files: given.files ?? {},
    env: given.env ?? {},
  }
  const supervisor = fork(join(import.meta.dirname, 'supervisor.ts'), [JSON.stringify(plan)], {
    execArgv: [],
    stdio: 'ignore',
    // Ctrl+C ends the tests, not the supervisor, which ends after them
    detached: true,
  })
  const gone = once(supervisor, 'exit')
  const answered = async (): Promise<Answer> => {
    // the supervisor keeps this process alive only while an answer is awaited
    supervisor.ref()
    supervisor.channel?.ref()
    try {
      const messages = await Promise.race([once(supervisor, 'message'), gone.then(() => undefined)])
      if (messages === undefined) throw new Error(`the process that starts ${kind} ended without an answer`)
      const answer = messages[0] as Answer
      if (answer.error === undefined) return answer
      throw new Error(`${kind}: ${answer.did} failed: ${answer.error}`)
    } finally {
      supervisor.unref()
      supervisor.channel?.unref()
    }
  }
  /** The last command. One at a time is sent, since answers are matched by their order. */
  let previous: Promise<unknown> = Promise.resolve()
  const tell = (command: Command): Promise<Answer> => {
    const answer = previous.then(() => {
      const awaited = answered()
      supervisor.send(command)
      return awaited
    })
    previous = answer.catch(() => undefined)
    return answer
  }
  const act = async (command: Command): Promise<void> => void (await tell(command))
  const close = async (): Promise<void> => {
    supervisor.ref()
    if (supervisor.connected) supervisor.disconnect()
    await gone
  }
  try {
    const { port, folder, password } = await answered()
    await tell('start')
    return {
      url: url(password, port),
      port,
      folder,
      look: () => tell('look'),
      kill: () => act('kill'),
      stop: () => act('stop'),
      start: () => act('start'),
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}
