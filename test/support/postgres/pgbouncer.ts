// PgBouncer in front of the tests' PostgreSQL: it runs each transaction of a client on any free connection. It is
// Debian's package (scripts/install-test-servers.sh), and ends with this process (kept-process.ts).
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isCi } from '../ci.ts'
import { quickFolder } from '../quick-folder.ts'
import { freePort } from '../servers/free-port.ts'
import { findProgram, programs } from '../servers/programs.ts'
import type { Kept } from '../servers/kept-process.ts'
import { unprivileged } from '../servers/unprivileged.ts'
import { sharedServer } from '../servers/shared-server.ts'

let known: Promise<string> | undefined

/** Returns the URL of PgBouncer. Rejects if it is not installed. */
export function pooledPostgres(): Promise<string> {
  known ??= start()
  return known
}

/** `skip` of node:test: why tests need PgBouncer and cannot have it. Rejects in CI, where none may be skipped. */
export async function withoutPgBouncer(): Promise<string | false> {
  try {
    await pooledPostgres()
    return false
  } catch (error) {
    if (isCi) throw error
    return error instanceof Error ? error.message : String(error)
  }
}

async function start(): Promise<string> {
  const server = new URL((await sharedServer('postgres')).url)
  const program = findProgram(programs.pgbouncer)
  const folder = await mkdtemp(join(quickFolder(), 'reprise-pgbouncer-'))
  const user = unprivileged()
  const port = await freePort()
  const files = {
    'users.txt': `"${server.username}" "${decodeURIComponent(server.password)}"\n`,
    'pgbouncer.ini': [
      '[databases]',
      `* = host=${server.hostname} port=${server.port}`,
      '[pgbouncer]',
      'listen_addr = 127.0.0.1',
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = plain',
      `auth_file = ${join(folder, 'users.txt')}`,
      'pool_mode = transaction',
      'max_client_conn = 500',
      // fewer than there are clients, so that the transactions of a client use different connections
      'default_pool_size = 6',
      'ignore_startup_parameters = extra_float_digits',
      '',
    ].join('\n'),
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 })
  if (user) for (const name of ['', ...Object.keys(files)]) await chown(join(folder, name), user.uid, user.gid)
  await chmod(folder, 0o700)
  const kept: Kept = { program, parameters: [join(folder, 'pgbouncer.ini')], folder, user }
  const keeper = fork(join(import.meta.dirname, '../servers/kept-process.ts'), [JSON.stringify(kept)], {
    execArgv: [],
    stdio: 'ignore',
    detached: true,
  })
  keeper.unref()
  keeper.channel?.unref()
  await answers(port)
  server.port = String(port)
  return server.href
}

async function answers(port: number): Promise<void> {
  for (let tries = 0; ; tries++) {
    const socket = connect(port, '127.0.0.1')
    try {
      await once(socket, 'connect')
      return
    } catch (error) {
      if (tries === 500) throw new Error('PgBouncer was started, but does not answer', { cause: error })
      await wait(10)
    } finally {
      socket.destroy()
    }
  }
}
