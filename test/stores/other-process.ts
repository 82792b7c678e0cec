import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/** Starts child.ts with these arguments. */
export function otherProcess(...parameters: string[]): ChildProcessWithoutNullStreams {
  const script = fileURLToPath(new URL('child.ts', import.meta.url))
  const child = spawn(process.execPath, ['--conditions=reprise-source', script, ...parameters])
  child.stderr.pipe(process.stderr)
  return child
}

export function linesFrom(child: ChildProcessWithoutNullStreams): AsyncIterable<string> {
  return createInterface({ input: child.stdout })
}

export async function ended(child: ChildProcessWithoutNullStreams): Promise<number | null> {
  if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
  const [code] = (await once(child, 'exit')) as [number | null]
  return code
}

/** Lets the event loop turn, to see that something does not happen. */
export async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((done) => setImmediate(done))
}
