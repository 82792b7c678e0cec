// Runs a group of test files in one process. The group is ended if no test starts or ends for a while, however long it
// takes as a whole: the tests must pass on a machine that is busy with something else. All processes that it starts are
// in its process group, and end with it.
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
  /** The output of the tests. */
  readonly output: string
  /** Why not all tests were executed. Undefined if they were, even if some failed. */
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
    // leads its own process group
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
  // its streams close only once the processes that it left behind are gone
  end()
  await closed
  if (signal !== null) problem ??= `ended by ${signal}`
  return { output, problem, exitCode }
}

/** Returns a function that ends the process group. The reaper does so if this process ends first. */
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
    // a busy event loop reacts to no other signal
    process.kill(-pid, 'SIGKILL')
  } catch {
    // no process of the group is left
  }
}
