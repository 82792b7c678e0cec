// Ends a child process and everything it starts. They do not outlive this process, even when it is killed: a shell
// waits for the end of a pipe that only this process holds, and then ends the child's process group. Signal handlers
// were the alternative; they miss SIGKILL, which crews must survive, and change what SIGTERM does to a program that has
// its own.
import { spawn, type ChildProcess } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'

export interface ProcessGuard {
  /** Asks the child and its descendants to end; once. */
  end(): void
  /** Kills the child and its descendants. */
  kill(): void
  /**
   * Resolves when the child, its descendants and the guard have ended. Starts automatically when the child has ended.
   */
  readonly over: Promise<void>
}

/** Milliseconds that a process may take to end. */
export const patience = 2000

const script =
  'read -r _; kill -TERM "-$1" || exit; for _ in 1 2; do sleep 1; kill -0 "-$1" || exit; done; kill -KILL "-$1"'

export function guardProcess(child: ChildProcess): ProcessGuard {
  if (process.platform === 'win32') return guardByExit(child)
  let asked = false
  const tell = (): void => {
    if (!asked) signalGroup(child, 'SIGTERM')
    asked = true
  }
  const force = (): void => void signalGroup(child, 'SIGKILL')
  const shell = startShell(child)
  const end = async (): Promise<void> => {
    await waitForExit(child)
    // the first of a chain may end before the others, as npx does
    tell()
    for (let waited = 0; waited < patience && signalGroup(child, 0); waited += 50) await delay(50)
    force()
    await shell.end()
    // a process that left the group may still hold the pipe, and would keep us waiting
    setTimeout(() => child.stdout?.destroy(), 500).unref()
  }
  return { end: tell, kill: force, over: end() }
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
    // without a shell, only the end of its stdin tells a server to stop
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

/** Whether the group had a process. It keeps the child's id as long as it has one. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-(child.pid as number), signal)
  } catch {
    return false
  }
}

/** Windows has no process groups and no such shell: only a process that exits normally takes the child with it. */
function guardByExit(child: ChildProcess): ProcessGuard {
  const end = (): void => void child.kill()
  process.once('exit', end)
  const over = waitForExit(child).then(() => void process.removeListener('exit', end))
  return { end: end, kill: end, over }
}
