// The processes of the four ways: each is a command that a user would type. Each is killed by its own id, at the latest
// when this process exits.
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

export const root: string = join(import.meta.dirname, '../..')
/** The crew file of all four ways, relative to the project's folder. */
export const crewFile = 'examples/claims-triage/crew.ts'

export type Variables = Readonly<Record<string, string>>

export interface Program extends AsyncDisposable {
  readonly pid: number
  /** Resolves once the output matches. Rejects with the whole output if the process ends first. */
  waitForOutput(what: RegExp): Promise<void>
  /** Sends SIGKILL. Resolves when the process has ended. */
  kill(): Promise<void>
  /** Resolves with its standard output. Rejects if it fails. */
  completed(): Promise<string>
  /** Returns all output so far. */
  output(): string
}

const living = new Set<ChildProcess>()
process.on('exit', () => living.forEach((child) => child.kill('SIGKILL')))
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))

/** Starts `node file …`. Of the variables of Reprise, Restate and OpenAI, its environment has only `variables`. */
export function start(file: string, parameters: readonly string[], variables: Variables): Program {
  const child = spawn(process.execPath, ['--conditions=reprise-source', file, ...parameters], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...withoutReprise(process.env), ...variables },
  })
  living.add(child)
  const gone = once(child, 'close').finally(() => living.delete(child))
  let [out, all] = ['', '']
  const received = new EventTarget()
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      if (stream === child.stdout) out += text
      all += text
      received.dispatchEvent(new Event('more'))
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
    async waitForOutput(what) {
      while (!what.test(all)) {
        const end = await Promise.race([once(received, 'more').then(() => undefined), ended])
        if (end) throw new Error(`${file} ended with ${end.how} before it printed ${String(what)}: ${all.trim()}`)
      }
    },
    kill,
    async completed() {
      const { code, how } = await ended
      if (code !== 0) throw new Error(`${file} ended with ${how}: ${all.trim()}`)
      return out.trim()
    },
    output: () => all.trim(),
    [Symbol.asyncDispose]: kill,
  }
}

/** Starts `reprise worker` for the crew file. */
export function startWorker(parameters: readonly string[], variables: Variables): Program {
  return start('src/cli/main.ts', ['worker', crewFile, ...parameters], variables)
}

/** Leaves out settings that the user has made for other crews. */
function withoutReprise(variables: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(variables).filter(([name]) => !/^(REPRISE|RESTATE|OPENAI)_/.test(name)))
}
