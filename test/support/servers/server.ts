// A server of the tests, on loopback and a free port, in a temporary folder. It can be killed and started again with
// the same port and data, and is gone when this process is (supervisor.ts).
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { quickFolder } from '../quick-folder.ts'
import type { ProgramKind } from './server-program.ts'

export interface ServerOptions {
  /** Syncs to a disk, as servers of users do. Default: nothing is synced, and all is in memory where there is room. */
  readonly durable?: boolean
  /** In which folder to make the server's own. */
  readonly parent?: string
  readonly settings?: { readonly [name: string]: string | number }
  /** Files to lie beside the data folder, such as `server.key`, readable for the server alone. */
  readonly files?: { readonly [name: string]: string }
  /** Variables of its environment, beside ours. */
  readonly env?: { readonly [name: string]: string }
}

export interface TestServer extends AsyncDisposable {
  readonly url: string
  readonly port: number
  /** Its folder, in which `data` is; gone after the end. */
  readonly folder: string
  /** Its process id, undefined while it is away, and the end of its log. */
  look(): Promise<{ readonly pid: number | undefined; readonly log: string }>
  /** Hard: everybody is cut off, and what was not in its log is gone. */
  kill(): Promise<void>
  /** As an administrator does: everybody is cut off, and nothing is left to recover. */
  stop(): Promise<void>
  /** Starts it again after it was killed or stopped, or has ended. A no-op while it runs. */
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
    // a sync of what is in memory costs nothing
    unsynced: {},
    url: (password: string, port: number) => `redis://:${password}@127.0.0.1:${port}`,
  },
  // its addresses are in its file (restate-cluster.ts)
  restate: { usual: {}, unsynced: {}, url: () => '' },
} as const

/** Rejects where it cannot be started, with the reason. */
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
    // Ctrl+C ends the tests, and the supervisor ends after them
    detached: true,
  })
  const gone = once(supervisor, 'exit')
  const answered = async (): Promise<Answer> => {
    // it is waited for while it is awaited, and does not keep this process alive otherwise
    supervisor.ref()
    supervisor.channel?.ref()
    try {
      const said = await Promise.race([once(supervisor, 'message'), gone.then(() => undefined)])
      if (said === undefined) throw new Error(`the process that starts ${kind} ended without a word`)
      const answer = said[0] as Answer
      if (answer.error === undefined) return answer
      throw new Error(`${kind}: ${answer.did} failed: ${answer.error}`)
    } finally {
      supervisor.unref()
      supervisor.channel?.unref()
    }
  }
  /** One at a time: answers have no other name than their order. */
  let told: Promise<unknown> = Promise.resolve()
  const tell = (command: Command): Promise<Answer> => {
    const answer = told.then(() => {
      const heard = answered()
      supervisor.send(command)
      return heard
    })
    told = answer.catch(() => undefined)
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
