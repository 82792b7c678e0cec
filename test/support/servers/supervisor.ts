// A process that has one server as its child. When its own parent is gone, for whatever reason, SIGKILL included, it
// ends the server and removes its folder. Its argument is the ServerPlan; it answers each command (server.ts) when it
// has executed it.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { EventEmitter, once } from 'node:events'
import { chmod, chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { unprivileged } from './unprivileged.ts'
import { freePort } from './free-port.ts'
import type { Answer, Command, ServerPlan } from './server.ts'
import type { Launch, ServerProgram } from './server-program.ts'

const { kind, parent, settings, files, env } = JSON.parse(process.argv[2] ?? '') as ServerPlan
const { program } = (await import(`../${kind}/${kind}-program.ts`)) as { program: ServerProgram }
const user = program.anyUser ? undefined : unprivileged()
const password = randomBytes(12).toString('hex')
let folder = ''
let port = 0
/** The running process: a program that prepares the server, or the server. */
let child: ChildProcess | undefined
let log = ''
const logEvents = new EventEmitter()

async function answer(command: Command | 'prepare'): Promise<void> {
  let error: string | undefined
  try {
    await does[command]()
  } catch (thrown) {
    error = thrown instanceof Error ? thrown.message : String(thrown)
  }
  const answered: Answer = { did: command, folder, password, port, pid: child?.pid, log, error }
  if (process.connected) process.send?.(answered)
}

const does: { readonly [command in Command | 'prepare']: () => Promise<void> } = {
  async prepare() {
    folder = await mkdtemp(join(parent, `reprise-${kind}-`))
    // the server's user must be able to enter it
    await chmod(folder, 0o711)
    for (const [name, text] of Object.entries(files)) {
      await writeFile(join(folder, name), text, { mode: 0o600 })
      if (user) await chown(join(folder, name), user.uid, user.gid)
    }
    await program.prepare({ folder, user, password }, run)
    port = await freePort()
  },
  async start() {
    if (child !== undefined) return
    launch(program.launch({ folder, user, password }, port, settings))
    const code = await Promise.race([exit(), ready()])
    if (code !== undefined) throw new Error(`the server ended with ${code}: ${log.trim()}`)
  },
  kill: () => end(program.killedBy),
  stop: () => end(program.stoppedBy),
  look: async () => {},
}

process.on('message', (command: Command) => void answer(command))
process.once('disconnect', () => void leave())
// Ctrl+C ends the test runner, which closes the channel to this process
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
await answer('prepare')

async function end(signal: NodeJS.Signals): Promise<void> {
  child?.kill(signal)
  await exit()
}

async function leave(): Promise<void> {
  await end(program.killedBy)
  if (folder !== '') await rm(folder, { recursive: true, force: true })
  process.exit()
}

async function run(launched: Launch): Promise<void> {
  launch(launched)
  const code = await exit()
  if (code !== 0) throw new Error(`${launched[0]} ended with ${code}: ${log.trim()}`)
}

function launch([path, parameters]: Launch): void {
  log = ''
  const launched = spawn(path, parameters, {
    cwd: folder,
    env: { ...process.env, LC_ALL: 'C', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    ...user,
  })
  child = launched
  for (const stream of [launched.stdout, launched.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4000)
      logEvents.emit('more')
    })
  }
  launched.once('exit', () => (child = undefined))
  launched.once('error', () => (child = undefined))
}

/** The exit code of the running process, or the signal that ended it; undefined if none is running. */
async function exit(): Promise<number | string | undefined> {
  if (child === undefined) return undefined
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
  return code ?? signal ?? undefined
}

async function ready(): Promise<undefined> {
  while (!log.includes(program.ready)) await once(logEvents, 'more')
}
