// The cost of streaming: a model call over the wire that is streamed to a listener, compared with the same call in one
// piece.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { createListeners } from '../src/read/listeners.ts'
import { callModel } from '../src/models/call-model.ts'
import type { Figure } from './report.ts'
import { compare } from './rounds.ts'

export async function benchStreaming(): Promise<Figure[]> {
  // in its own thread, so that the server's work isn't counted
  const worker = new Worker(`(${server.toString()})()`, { eval: true })
  const [port] = (await once(worker, 'message')) as [number]
  const figures: Figure[] = []
  for (const pieces of [50, 500]) {
    const baseURL = `http://127.0.0.1:${port}/${pieces}`
    const model = createOpenAICompatible({ name: 'local', baseURL, includeUsage: true })('gpt-test')
    const listeners = createListeners()
    const listener = listeners.listen('r', { wake() {}, again: false })
    const call = async (heard: boolean): Promise<void> => {
      using reply = listeners.streamReply('r', 'note#1/1', 0)
      const messages = [{ role: 'user' as const, text: 'hello' }]
      const more = heard ? { listener: reply } : {}
      await callModel({ model, instructions: '', messages, tools: [], ...more })
    }
    for (let warm = 0; warm < 50; warm++) await call(warm % 2 === 0)
    const compared = await compare({ rounds: 30, perRound: 10, ours: () => call(true), raw: () => call(false) })
    listener.stop()
    figures.push({
      name: `a reply of ${pieces} pieces, streamed / in one piece`,
      value: compared.ratio,
      note: `${compared.ours.toFixed(2)} against ${compared.raw.toFixed(2)} ms; ${(((compared.ours - compared.raw) / pieces) * 1000).toFixed(0)} µs a piece`,
    })
  }
  await worker.terminate()
  return figures
}

/**
 * Answers with the number of pieces in the path, each of five characters, as fast as it can. The thread runs the source
 * of this function.
 */
function server(): void {
  const { createServer } = process.getBuiltinModule('node:http')
  const { parentPort } = process.getBuiltinModule('node:worker_threads')
  const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 }
  const http = createServer((request, response) => {
    const pieces = Number(request.url?.split('/')[1])
    let body = ''
    request.on('data', (chunk: Buffer) => (body += chunk.toString()))
    request.on('end', () => {
      const head = { id: 'c1', created: 1, model: 'gpt-test' }
      if ((JSON.parse(body) as { stream?: boolean }).stream !== true) {
        const message = { role: 'assistant', content: 'word '.repeat(pieces) }
        response.writeHead(200, { 'content-type': 'application/json' })
        response.end(JSON.stringify({ ...head, choices: [{ index: 0, finish_reason: 'stop', message }], usage }))
        return
      }
      const send = (chunk: object): void => void response.write(`data: ${JSON.stringify({ ...head, ...chunk })}\n\n`)
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let piece = 0; piece < pieces; piece++) {
        send({ choices: [{ index: 0, delta: { content: 'word ' }, finish_reason: null }] })
      }
      send({ choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage })
      response.end('data: [DONE]\n\n')
    })
  })
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- it is a thread, not a window
  http.listen(0, '127.0.0.1', () => parentPort?.postMessage((http.address() as { port: number }).port))
}
