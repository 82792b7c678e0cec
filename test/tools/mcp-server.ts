// An MCP server over stdio, written by hand so that it can also do what no library would: die in the middle of a call,
// answer garbage, ignore signals. MCP_LOG names a file to which it appends requests and notifications, one JSON per
// line.
import { appendFileSync } from 'node:fs'

interface Request {
  readonly id?: number
  readonly method: string
  readonly params?: { readonly name?: string; readonly arguments?: { readonly [name: string]: unknown } }
}

const { MCP_LOG, MCP_MODE, MCP_TOOL } = process.env
const log = (what: object): void => {
  if (MCP_LOG) appendFileSync(MCP_LOG, `${JSON.stringify({ pid: process.pid, ...what })}\n`)
}
const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const tools = [
  { name: 'look', description: 'Looks something up', inputSchema: text, annotations: { readOnlyHint: true } },
  { name: 'put', description: 'Stores a text', inputSchema: text, annotations: { idempotentHint: true } },
  { name: 'send', description: 'Sends a text', inputSchema: text, annotations: { title: 'Send' } },
  { name: 'files.list', inputSchema: { type: 'object' } },
  { name: 'give', description: 'Answers with its input', inputSchema: { type: 'object' } },
  { name: 'wait', description: 'Never ends', inputSchema: { type: 'object' } },
  { name: 'die', description: 'Ends the server', inputSchema: { type: 'object' } },
  { name: 'refuse', description: 'Is an error of the protocol', inputSchema: { type: 'object' } },
  ...(MCP_TOOL ? [{ name: MCP_TOOL, inputSchema: { type: 'object' } }] : []),
]

const say = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
const words = (said: string): object => ({ content: [{ type: 'text', text: said }] })

log({ started: process.argv.slice(2) })
if (MCP_MODE === 'broken') {
  process.stderr.write(`cannot start with token ${process.env['SERVICE_TOKEN']}\n`)
  process.exit(3)
}
if (MCP_MODE === 'mute') process.stdin.resume()
else {
  // not by node:readline, for which U+2028 ends a line too
  let rest = ''
  process.stdin.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) answer(JSON.parse(line) as Request)
  })
}
if (MCP_MODE === 'stubborn') {
  process.on('SIGTERM', () => log({ ignored: 'SIGTERM' }))
  setInterval(() => {}, 1000)
}

function answer({ id, method, params }: Request): void {
  log({ method, ...(params === undefined ? {} : { params }) })
  if (id === undefined) return
  process.stdout.write('not a message\n')
  if (method === 'initialize') {
    const serverInfo = { name: 'test', version: '1' }
    return say({ id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
  }
  // two pages
  if (method === 'tools/list') {
    const second = JSON.stringify(params ?? {}).includes('"cursor"')
    return say({ id, result: second ? { tools: tools.slice(3) } : { tools: tools.slice(0, 3), nextCursor: 'more' } })
  }
  if (method !== 'tools/call') return say({ id, error: { code: -32601, message: `there is no ${method}` } })
  const { name, arguments: input = {} } = params ?? {}
  if (name === 'wait') return
  if (name === 'die') process.exit(7)
  if (name === 'refuse') return say({ id, error: { code: -32602, message: 'the text is too long' } })
  if (name === 'give') return say({ id, ...input })
  if (name === 'look') return say({ id, result: words(`${String(input['text'])} is known to ${process.pid}`) })
  say({ id, result: words(`${name}: ${String(input['text'])}`) })
}
