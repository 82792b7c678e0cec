// A server as a child process: one JSON-RPC message per line over its stdin and stdout. The transport of the SDK isn't
// used, since it neither waits for the process to end nor tells a server that a call was cancelled.
//
// No process is left running: close() ends the server and everything that it started, by closing stdin, then with
// SIGTERM, then with SIGKILL. A guard does the same when this process is gone, however it ended.
//
// An idle server does not keep this process alive; a server with a request in progress does.
import { defined } from '../../base/options.ts'
import { spawn, type ChildProcess } from 'node:child_process'
import type { Socket } from 'node:net'
import { StringDecoder } from 'node:string_decoder'
import { plainVariables } from '../../base/environment.ts'
import { lostAnswer, type Message, type Transport } from './mcp-client.ts'
import { guardProcess, patience, type ProcessGuard } from './guard.ts'
import type { StdioServer } from './mcp-server.ts'

export interface StdioTransport extends Transport {
  /** The end of the server's stderr. */
  lastStderr(): string
}

/** `onGone` receives how the process ended. */
export function stdioTransport(server: StdioServer, onGone: (how: string) => void): StdioTransport {
  let child: ChildProcess | undefined
  let guard: ProcessGuard | undefined
  let ended: Promise<void> = Promise.resolve()
  let closing: Promise<void> | undefined
  let stderr = ''
  const openRequests = new Set<number>()

  const write = (message: Message): void => void child?.stdin?.write(`${JSON.stringify(message)}\n`)
  /** Removes an answered or cancelled request. Returns false if it was not open. */
  const endRequest = (id: number): boolean => {
    const wasOpen = openRequests.delete(id)
    if (child && openRequests.size === 0 && !closing) keepAlive(child, false)
    return wasOpen
  }

  const transport: StdioTransport = {
    supportsProtocolVersionDiscovery: true,
    lastStderr: () => stderr.trim(),
    async start() {
      const started = start(server)
      await new Promise((resolve, reject) => started.once('spawn', resolve).once('error', reject))
      child = started
      guard = guardProcess(started)
      started.on('error', () => {})
      started.stdin?.on('error', () => {})
      started.stderr?.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-2000)))
      readLines(started, (line) => {
        const message = readMessage(line, openRequests)
        // other lines are ignored: servers log to stdout, and may answer a request that was cancelled
        if (message && (message.method !== undefined || endRequest(Number(message.id)))) transport.onmessage?.(message)
      })
      ended = new Promise((resolve) =>
        // unlike `exit`, `close` comes after the end of stdout
        started.once('close', (code, signal) => {
          onGone(signal === null ? `its process ended with code ${code}` : `its process was ended by ${signal}`)
          transport.onclose?.()
          resolve()
        }),
      )
      keepAlive(started, false)
    },
    async send(message, { signal } = {}) {
      if (!child || closing || child.exitCode !== null || child.signalCode !== null)
        throw Object.assign(new Error('its process has ended'), { code: 'ENOTCONN' })
      if (message.method !== undefined && message.id !== undefined) {
        const id = Number(message.id)
        openRequests.add(id)
        keepAlive(child, true)
        const cancel = (): void => {
          if (endRequest(id) && message.method === 'tools/call') write(cancelled(id))
        }
        signal?.addEventListener('abort', cancel, { once: true })
      }
      write(message)
    },
    close() {
      closing ??= (async () => {
        if (!child || !guard) return
        keepAlive(child, true)
        child.stdin?.end()
        if (!(await isOverSoon(guard))) guard.terminate()
        if (!(await isOverSoon(guard))) guard.kill()
        await guard.over
        await ended
      })()
      return closing
    },
  }
  return transport
}

export function cancelled(requestId: string | number): Message {
  return { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId, reason: 'the call was given up' } }
}

function start({ command, args = [], env = {}, cwd, stderr = 'ignore' }: StdioServer): ChildProcess {
  return spawn(command, args, {
    ...defined({ cwd }),
    env: { ...plainVariables(), ...env },
    stdio: ['pipe', 'pipe', stderr === 'inherit' ? 'inherit' : 'pipe'],
    // a process group of its own, so that everything that it starts can be ended: npx is a chain of three processes
    detached: process.platform !== 'win32',
    windowsHide: true,
  })
}

/** Not node:readline, which also ends a line at U+2028: JSON may contain it. */
function readLines(child: ChildProcess, take: (line: string) => void): void {
  const decoder = new StringDecoder('utf8')
  let parts: string[] = []
  child.stdout?.on('data', (chunk: Buffer) => {
    const [first = '', ...others] = decoder.write(chunk).split('\n')
    parts.push(first)
    for (const next of others) {
      take(parts.join(''))
      parts = [next]
    }
  })
}

/** Returns undefined for a line that isn't a message. An invalid answer still ends its request, with an error. */
function readMessage(line: string, openRequests: ReadonlySet<number>): Message | undefined {
  try {
    const value = JSON.parse(line) as Message | null
    if (typeof value !== 'object' || value === null) return undefined
    if (typeof value.method === 'string') return value
    if (value.id === undefined || !openRequests.has(Number(value.id))) return undefined
    const isValid = 'result' in value || typeof value.error?.message === 'string'
    return isValid ? value : lostAnswer(value.id, 'it sent an invalid answer')
  } catch {
    return undefined
  }
}

function keepAlive(child: ChildProcess, yes: boolean): void {
  const handles = [child, child.stdin, child.stdout, child.stderr] as (Partial<Pick<Socket, 'ref' | 'unref'>> | null)[]
  // Bun's streams have neither function, and keep nothing alive
  for (const handle of handles) handle?.[yes ? 'ref' : 'unref']?.()
}

/** Whether the process and its descendants end within `patience`. */
async function isOverSoon({ over }: ProcessGuard): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), patience)
  try {
    return await Promise.race([over.then(() => true), late])
  } finally {
    clearTimeout(timer)
  }
}
