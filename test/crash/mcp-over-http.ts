// An MCP server over HTTP in the process of the tests, which survives the kills. It records the calls of a run, which
// its client names in a header, in the same file as the servers over stdio.
import { appendFileSync } from 'node:fs'
import { json, openHttp, type HttpStage } from '../tools/mcp-support.ts'
import { serverLog } from './effects.ts'

const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
const tools = [
  { name: 'put', description: 'Stores a text', inputSchema: text, annotations: { idempotentHint: true } },
  { name: 'send', description: 'Sends a text', inputSchema: text },
]

export function openMcpOverHttp(): Promise<HttpStage> {
  return openHttp(({ id, method, params }, response, request) => {
    if (id === undefined) return response.writeHead(202).end()
    if (method === 'initialize') {
      const serverInfo = { name: 'http', version: '1' }
      return json(response, { id, result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo } })
    }
    if (method === 'tools/list') return json(response, { id, result: { tools } })
    if (method !== 'tools/call')
      return json(response, { id, error: { code: -32601, message: `there is no ${method}` } })
    appendFileSync(serverLog(String(request.headers['x-run'])), `${JSON.stringify({ method, params })}\n`)
    const { name, arguments: input } = params as { name: string; arguments: { text: string } }
    const said = `${name}: ${input.text}`
    return json(response, { id, result: { content: [{ type: 'text', text: said }] } })
  })
}
