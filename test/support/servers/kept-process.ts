// Runs one program as its child. When its own parent is gone, for whatever reason, SIGKILL included, it ends the
// program and removes the program's folder.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import type { User } from './server-program.ts'

export interface Kept {
  readonly program: string
  readonly parameters: readonly string[]
  readonly folder: string
  readonly user: User | undefined
}

const { program, parameters, folder, user } = JSON.parse(process.argv[2] ?? '') as Kept
const child = spawn(program, parameters, { cwd: folder, stdio: 'ignore', ...user })
const ended = once(child, 'exit').catch(() => undefined)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
// a channel without a listener keeps no process alive
process.on('message', () => undefined)
await once(process, 'disconnect')
child.kill('SIGKILL')
await ended
await rm(folder, { recursive: true, force: true })
process.exit()
