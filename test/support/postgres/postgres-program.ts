// How the tests start PostgreSQL: the binaries that npm installed, and a cluster that initdb creates.
import { chmod, chown, cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServerPlace, ServerProgram } from '../servers/server-program.ts'
import { binaries, mayExecute, type Binaries } from './binaries.ts'

let programs: Binaries

export const program: ServerProgram = {
  async prepare(place, run) {
    const { folder, user, password } = place
    programs = await reachable(await binaries(), place)
    await mkdir(join(folder, 'data'), { mode: 0o700 })
    await writeFile(join(folder, 'password'), password)
    for (const name of ['data', 'password']) if (user) await chown(join(folder, name), user.uid, user.gid)
    await chmod(join(folder, 'password'), 0o600)
    // a natural sort order, so that tests fail for code that forgets to compare bytes
    const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en', '--encoding=UTF8']
    const login = ['--username=reprise', `--pwfile=${join(folder, 'password')}`, '--auth=scram-sha-256']
    // there are many connections, and this password needs no protection
    const quick = ['--no-sync', '--no-instructions', '-c', 'scram_iterations=1']
    await run([programs.initdb, [`--pgdata=${join(folder, 'data')}`, ...login, ...locale, ...quick]])
    await rm(join(folder, 'password'))
  },
  launch({ folder }, port, settings) {
    const given = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, ...settings }
    const flags = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    return [programs.postgres, ['-D', join(folder, 'data'), ...flags]]
  },
  ready: 'ready to accept connections',
  killedBy: 'SIGQUIT',
  stoppedBy: 'SIGINT',
}

/** Returns the binaries, or a copy of them if the server's user cannot execute the originals. */
async function reachable(found: Binaries, { user, folder }: ServerPlace): Promise<Binaries> {
  if (user === undefined || mayExecute(found.postgres, user)) return found
  const copy = join(folder, 'binaries')
  await cp(found.root, copy, { recursive: true, verbatimSymlinks: true })
  return { root: copy, initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') }
}
