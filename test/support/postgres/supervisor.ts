// A process that has one PostgreSQL server as its child, and outlives whoever asked for it just as long as it takes to end that: when
// the channel to its parent closes, by whatever (SIGKILL too), the server is ended and its folder removed.
// Its argument is the ServerPlan; it answers each command (server.ts) when it is done.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { binaries, mayExecute, unprivileged, type Binaries } from './binaries.ts'
import { freePort } from './free-port.ts'
import type { Answer, Command, ServerPlan } from './server.ts'

const { parent, settings, files } = JSON.parse(process.argv[2] ?? '') as ServerPlan
const user = unprivileged()
const password = randomBytes(12).toString('hex')
let folder = ''
let port = 0
let programs: Binaries
/** What is running: initdb, then the server. */
let child: ChildProcess | undefined
let log = ''

async function answer(command: Command | 'prepare'): Promise<void> {
  let error: string | undefined
  try {
    await does[command]()
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown)
  }
  const said: Answer = { did: command, folder, password, port, pid: child?.pid, log, error }
  if (process.connected) process.send?.(said)
}

const does: { readonly [command in Command | 'prepare']: () => Promise<void> } = {
  async prepare() {
    folder = await mkdtemp(join(parent, 'reprise-postgres-'))
    // the server's user passes through it
    await chmod(folder, 0o711)
    programs = await reachable(await binaries())
    await mkdir(join(folder, 'data'), { mode: 0o700 })
    await writeFile(join(folder, 'password'), password)
    for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text, { mode: 0o600 })
    for (const name of ['data', 'password', ...Object.keys(files)]) {
      if (user !== undefined) await chown(join(folder, name), user.uid, user.gid)
    }
    // letters sort as people sort them, so that whatever forgets to compare bytes is noticed
    const locale = ['--locale=C', '--locale-provider=icu', '--icu-locale=en', '--encoding=UTF8']
    const login = ['--username=reprise', `--pwfile=${join(folder, 'password')}`, '--auth=scram-sha-256']
    // connections are many, and nobody guesses this password
    const quick = ['--no-sync', '--no-instructions', '-c', 'scram_iterations=1']
    launch(programs.initdb, [`--pgdata=${join(folder, 'data')}`, ...login, ...locale, ...quick])
    const code = await exit()
    if (code !== 0) throw new Error(`initdb ended with ${code}: ${log.trim()}`)
    await rm(join(folder, 'password'))
    port = await freePort()
  },
  async start() {
    if (child !== undefined) return
    const given = { listen_addresses: '127.0.0.1', unix_socket_directories: '', port, ...settings }
    const flags = Object.entries(given).flatMap(([name, value]) => ['-c', `${name}=${value}`])
    const messages = launch(programs.postgres, ['-D', join(folder, 'data'), ...flags])
    const code = await Promise.race([exit(), ready(messages)])
    if (code !== undefined) throw new Error(`the server ended with ${code}: ${log.trim()}`)
  },
  /** Hard: what was in its memory is gone, and it recovers from its log when it starts again. */
  kill: () => end('SIGQUIT'),
  stop: () => end('SIGINT'),
  look: async () => {},
}

process.on('message', (command: Command) => void answer(command))
process.once('disconnect', () => void leave())
// who started the tests is told by a Ctrl+C, and the channel tells this process
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
await answer('prepare')

async function end(signal: NodeJS.Signals): Promise<void> {
  child?.kill(signal)
  await exit()
}

async function leave(): Promise<void> {
  await end('SIGQUIT')
  if (folder !== '') await rm(folder, { recursive: true, force: true })
  process.exit()
}

/** Gives what it writes to stderr. */
function launch(program: string, parameters: string[]): Readable {
  log = ''
  const launched = spawn(program, parameters, {
    cwd: folder,
    env: { ...process.env, LC_ALL: 'C' },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  })
  child = launched
  for (const stream of [launched.stdout, launched.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (log = (log + text).slice(-4000)))
  }
  launched.once('exit', () => (child = undefined))
  launched.once('error', () => (child = undefined))
  return launched.stderr
}

/** The exit code of what is running, or the signal that ended it; undefined when nothing is. */
async function exit(): Promise<number | string | undefined> {
  if (child === undefined) return undefined
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return code ?? signal ?? undefined
}

async function ready(messages: Readable): Promise<undefined> {
  while (!log.includes('ready to accept connections')) await once(messages, 'data')
}

/** The binaries, copied to where the server's user can read them if it cannot where they are. */
async function reachable(found: Binaries): Promise<Binaries> {
  if (user === undefined || mayExecute(found.postgres, user)) return found
  const copy = join(folder, 'binaries')
  await cp(found.root, copy, { recursive: true, verbatimSymlinks: true })
  return { root: copy, initdb: join(copy, 'bin/initdb'), postgres: join(copy, 'bin/postgres') }
}
