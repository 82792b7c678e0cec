// A group of test files in one process. It is ended when no test starts or ends for a while, not when the group as a
// whole takes long: the tests must pass on a machine that is busy with something else. All processes that it started
// are in its process group, and end with it.
import { fork, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import type { Progress } from './failures.ts'

export interface TestGroup {
  readonly files: readonly string[]
  /** The longest time without progress. */
  readonly patienceMs: number
  readonly cwd: string
  readonly env: NodeJS.ProcessEnv
  readonly onProgress?: (progress: Progress) => void
}

export interface GroupResult {
  /** What its tests printed. */
  readonly output: string
  /** Why it failed as a whole, beside failed tests; undefined: all of its tests were executed. */
  readonly problem: string | undefined
  readonly exitCode: number | null
}

let reaper: ChildProcess | undefined

export async function runGroup({ files, patienceMs, cwd, env, onProgress }: TestGroup): Promise<GroupResult> {
  const options = ['--conditions=reprise-source', '--test', '--test-isolation=none']
  const reporter = `--test-reporter=${join(import.meta.dirname, 'failures.ts')}`
  const child = spawn(process.execPath, [...options, reporter, ...files], {
    cwd,
    env,
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    // the leader of a process group of its own
    detached: true,
  })
  const end = reaped(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (text: string) => (output += text))

  const underWay = new Set<string>()
  let last: Progress | undefined
  let problem: string | undefined
  const stall = (): void => {
    const lastly = last === undefined ? 'no test has started' : `the last that ${last.type} is ${last.test}`
    const waiting = [...underWay].map((test) => `\n  under way: ${test}`)
    problem = `ended because no test started or ended for ${patienceMs / 1000} s: ${lastly}${waiting.join('')}`
    end()
  }
  let timer = setTimeout(stall, patienceMs)
  child.on('message', (progress: Progress) => {
    if (progress.type === 'skipped') return onProgress?.(progress)
    last = progress
    if (progress.type === 'started') underWay.add(progress.test)
    else underWay.delete(progress.test)
    clearTimeout(timer)
    timer = setTimeout(stall, patienceMs)
    onProgress?.(progress)
  })

  const closed = once(child, 'close')
  const [exitCode, signal] = (await once(child, 'exit')) as [number | null, NodeJS.Signals | null]
  clearTimeout(timer)
  // its streams close when what it left behind is gone, too
  end()
  await closed
  if (signal !== null) problem ??= `ended by ${signal}`
  return { output, problem, exitCode }
}

/** Ends a process with its process group. The reaper does it if this process ends before. */
function reaped({ pid }: ChildProcess): () => void {
  if (pid === undefined) return () => undefined
  if (reaper === undefined) {
    reaper = fork(join(import.meta.dirname, 'reaper.ts'), { execArgv: [], stdio: 'ignore', detached: true })
    reaper.unref()
    reaper.channel?.unref()
  }
  reaper.send({ type: 'started', pid })
  return () => {
    endGroup(pid)
    reaper?.send({ type: 'ended', pid })
  }
}

export function endGroup(pid: number): void {
  try {
    // a process that spins hears no other signal
    process.kill(-pid, 'SIGKILL')
  } catch {
    // nothing of it is left
  }
}
