// How the tests start Redis: Debian's package (scripts/install-test-servers.sh), or the command in
// REPRISE_TEST_REDIS_SERVER, such as valkey-server.
import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { findProgram, programs } from '../servers/programs.ts'
import type { ServerProgram } from '../servers/server-program.ts'

export const program: ServerProgram = {
  async prepare({ folder, user }) {
    find()
    await mkdir(join(folder, 'data'), { mode: 0o700 })
    if (user) await chown(join(folder, 'data'), user.uid, user.gid)
  },
  launch({ folder, password }, port, settings) {
    const given = { bind: '127.0.0.1', port, dir: join(folder, 'data'), requirepass: password, ...settings }
    return [find(), Object.entries(given).flatMap(([name, value]) => [`--${name}`, String(value)])]
  },
  ready: 'Ready to accept connections',
  killedBy: 'SIGKILL',
  stoppedBy: 'SIGTERM',
}

/** Throws if Redis is not installed. */
export function find(): string {
  return findProgram(programs.redis)
}
