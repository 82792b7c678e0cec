// Outages of the workers' server: it is killed, or its disk is full.
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, rmSync, writeSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import type { ServerKind } from '../support/servers/server-program.ts'
import { startServer, type TestServer } from '../support/servers/server.ts'

export interface Troubled extends AsyncDisposable {
  readonly url: string
  /** Number of outages. */
  readonly times: number
  /** Causes one outage. Resolves at its end. */
  trouble(): Promise<void>
}

const awayMs = 2_000
const smallLog = { max_wal_size: '32MB', min_wal_size: '32MB' }

/** A server that is killed, and is away for two seconds. */
export async function killedServer(kind: ServerKind): Promise<Troubled> {
  const server = await startServer(kind)
  return {
    url: server.url,
    times: 3,
    async trouble() {
      await server.kill()
      await wait(awayMs)
      await server.start()
    },
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  }
}

/**
 * A server whose disk is full for two seconds after a write has failed. Rejects if this user may not mount a small
 * disk.
 */
export async function fullDisk(kind: ServerKind): Promise<Troubled> {
  const mount = await mkdtemp(join(tmpdir(), 'reprise-disk-'))
  await using stack = new AsyncDisposableStack()
  stack.defer(() => rm(mount, { recursive: true, force: true }))
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=128m,mode=755', 'tmpfs', mount], { stdio: 'pipe' })
  stack.defer(() => void execFileSync('umount', ['--lazy', mount]))
  const server = stack.use(
    await startServer(kind, { parent: mount, ...(kind === 'postgres' && { settings: smallLog }) }),
  )
  const disposal = stack.move()
  return {
    url: server.url,
    times: 1,
    async trouble() {
      const ballast = join(mount, 'ballast')
      fill(ballast)
      await noticed(server)
      await wait(awayMs)
      rmSync(ballast)
      // the full disk may have ended it
      await server.start()
    },
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}

/** `skip` of node:test: why no disk can be filled here. */
export function withoutFullDisk(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'only root on Linux can mount a small disk'
  try {
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', 'tmpfs', tmpdir()], { stdio: 'pipe' })
    return false
  } catch {
    return 'this machine cannot mount a small disk'
  }
}

function fill(file: string): void {
  const block = Buffer.alloc(2 ** 20)
  const open = openSync(file, 'w')
  try {
    for (let size = block.length; size > 512;) {
      try {
        writeSync(open, block, 0, size)
      } catch {
        size /= 2
      }
    }
  } finally {
    closeSync(open)
  }
}

/** Resolves when the server has logged that its disk is full. `Short write` is from Redis, which then ends. */
async function noticed(server: TestServer): Promise<void> {
  while (!/No space left on device|Short write/.test((await server.look()).log)) await wait(20)
}
