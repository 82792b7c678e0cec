// Ends a child process and everything that it started, even if this process is killed: a shell waits for the end of a
// pipe that only this process holds, and then ends the child's process group. Signal handlers would miss SIGKILL, which
// crews must survive, and would change what SIGTERM does in programs without handlers.
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

export interface ProcessGuard {
  /** Sends SIGTERM to the child and its descendants, once. */
  terminate(): void
  /** Sends SIGKILL to the child and its descendants. */
  kill(): void
  /**
   * Resolves when the child, its descendants and the guard have ended. Once the child ends, the others are ended, too.
   */
  readonly over: Promise<void>
}

/** Milliseconds that a process may take to end. */
export const patience = 2000

const script =
  'read -r _; kill -TERM "-$1" || exit; for _ in 1 2; do sleep 1; kill -0 "-$1" || exit; done; kill -KILL "-$1"'

export function guardProcess(child: ChildProcess): ProcessGuard {
  if (process.platform === 'win32') return guardByExit(child)
  let isTerminated = false
  const terminate = (): void => {
    if (!isTerminated) signalGroup(child, 'SIGTERM')
    isTerminated = true
  }
  const kill = (): void => void signalGroup(child, 'SIGKILL')
  const shell = startShell(child)
  const whenOver = async (): Promise<void> => {
    await waitForExit(child)
    // the first process of a chain may end before the others, as npx does
    terminate()
    for (let waited = 0; waited < patience && signalGroup(child, 0); waited += 50) await delay(50)
    kill()
    await shell.end()
    // a process that left the group may still hold the pipe, and `close` of the child would never come
    setTimeout(() => child.stdout?.destroy(), 500).unref()
  }
  return { terminate, kill, over: whenOver() }
}

function startShell(child: ChildProcess): { end(): Promise<void> } {
  const shell = spawn('/bin/sh', ['-c', script, 'reprise-mcp-guard', String(child.pid)], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  shell.unref()
  ;(shell.stdin as Partial<{ unref(): void }>).unref?.()
  shell.stdin.on('error', () => {})
  const ended = new Promise<void>((resolve) => {
    shell.once('exit', () => resolve())
    // there is no shell: if this process is killed, the server only notices the end of its stdin
    shell.once('error', () => resolve())
  })
  return {
    end() {
      shell.ref()
      shell.kill('SIGKILL')
      return ended
    },
  }
}

function waitForExit(child: ChildProcess): Promise<void> {
  return new Promise((resolve) => void child.once('exit', () => resolve()))
}

/** Returns false if the group has no processes left. Until then, its id, which is the child's, is not reused. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-(child.pid as number), signal)
  } catch {
    return false
  }
}

/** Windows has no process groups and no such shell: the child is ended only if this process exits normally. */
function guardByExit(child: ChildProcess): ProcessGuard {
  const end = (): void => void child.kill()
  process.once('exit', end)
  const over = waitForExit(child).then(() => void process.removeListener('exit', end))
  return { terminate: end, kill: end, over }
}
