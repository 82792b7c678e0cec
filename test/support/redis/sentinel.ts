// A Redis sentinel on loopback, which monitors one server and promotes its replica when the server is gone. The
// sentinel ends with this process (kept-process.ts).
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as passes } from 'node:timers/promises'
import { createClient } from 'redis'
import { quickFolder } from '../quick-folder.ts'
import { freePort } from '../servers/free-port.ts'
import type { Kept } from '../servers/kept-process.ts'
import { unprivileged } from '../servers/unprivileged.ts'
import { find } from './redis-program.ts'

export interface Sentinel extends AsyncDisposable {
  readonly port: number
  readonly password: string
}

/** Resolves when the sentinel knows the replica. The name of the monitored server is `claims`. */
export async function startSentinel(server: { readonly url: string }): Promise<Sentinel> {
  const watched = new URL(server.url)
  const folder = await mkdtemp(join(quickFolder(), 'reprise-sentinel-'))
  const [port, user, password] = [await freePort(), unprivileged(), 'of-the-sentinel']
  const settings = join(folder, 'sentinel.conf')
  const lines = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${folder}`,
    `requirepass ${password}`,
    `sentinel monitor claims 127.0.0.1 ${watched.port} 1`,
    `sentinel auth-pass claims ${watched.password}`,
    'sentinel down-after-milliseconds claims 300',
    'sentinel failover-timeout claims 5000',
    '',
  ]
  await writeFile(settings, lines.join('\n'), { mode: 0o600 })
  // a sentinel writes its state to this folder, too
  if (user) for (const path of [folder, settings]) await chown(path, user.uid, user.gid)
  await chmod(folder, 0o700)
  const kept: Kept = { program: find(), parameters: [settings, '--sentinel'], folder, user }
  const keeper = fork(join(import.meta.dirname, '../servers/kept-process.ts'), [JSON.stringify(kept)], {
    execArgv: [],
    stdio: 'ignore',
    detached: true,
  })
  const gone = once(keeper, 'exit')
  while ((await replicasKnown(port, password)) === 0) await passes(50)
  return {
    port,
    password,
    async [Symbol.asyncDispose]() {
      keeper.disconnect()
      await gone
    },
  }
}

async function replicasKnown(port: number, password: string): Promise<number> {
  const client = createClient({ password, socket: { host: '127.0.0.1', port, reconnectStrategy: false } })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return (await client.sendCommand<unknown[]>(['SENTINEL', 'REPLICAS', 'claims'])).length
  } catch {
    return 0
  } finally {
    client.destroy()
  }
}
