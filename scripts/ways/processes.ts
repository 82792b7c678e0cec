// The processes of the four ways: each is a command that a user would type, and each is killed by its own id, at the
// latest with this one.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export const root: string = join(import.meta.dirname, '../..')
/** The one crew file, as it is typed in the folder of the project. */
export const crewFile = 'examples/claims-triage/crew.ts'

export type Variables = Readonly<Record<string, string>>

export interface Program extends AsyncDisposable {
  readonly pid: number
  /** Resolves once the output matches. Rejects with the whole output if the process ends before. */
  says(what: RegExp): Promise<void>
  /** SIGKILL. Resolves when it is gone. */
  kill(): Promise<void>
  /** What it printed on its standard output, when it has ended well. */
  completed(): Promise<string>
  /** All of it. */
  said(): string
}

const living = new Set<ChildProcess>()
process.on('exit', () => living.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

/** `node file …`, with nothing of Reprise in its environment but these variables. */
export function start(file: string, parameters: readonly string[], variables: Variables): Program {
  const child = spawn(process.execPath, ['--conditions=reprise-source', file, ...parameters], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...withoutOurs(process.env), ...variables },
  })
  living.add(child)
  const gone = once(child, 'close').finally(() => living.delete(child))
  let [out, all] = ['', '']
  const heard = new EventTarget()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (stream === child.stdout) out += text
      all += text
      heard.dispatchEvent(new Event('more'))
    })
  }
  const ended = gone.then((given) => {
    const [code, signal] = given as [number | null, string | null]
    return { code, how: signal ?? `code ${code}` }
  })
  async function kill(): Promise<void> {
    child.kill('SIGKILL')
    await gone
  }
  return {
    pid: child.pid ?? 0,
    async says(what) {
      while (!what.test(all)) {
        const end = await Promise.race([once(heard, 'more').then(() => undefined), ended])
        if (end) throw new Error(`${file} ended with ${end.how} before it said ${String(what)}: ${all.trim()}`)
      }
    },
    kill,
    async completed() {
      const { code, how } = await ended
      if (code !== 0) throw new Error(`${file} ended with ${how}: ${all.trim()}`)
      return out.trim()
    },
    said: () => all.trim(),
    [Symbol.asyncDispose]: kill,
  }
}

/** `reprise worker`, for the one crew file. */
export function startWorker(parameters: readonly string[], variables: Variables): Program {
  return start('src/cli/main.ts', ['worker', crewFile, ...parameters], variables)
}

/** What the person who starts this has set for their own crews says nothing about these. */
function withoutOurs(variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !/^(REPRISE|RESTATE|OPENAI)_/.test(name)))
}
