// A conversation in a browser: `useChat` of the AI SDK, any number of messages, and a page that can be reloaded at any
// time. Kill the server and start it again: the conversation continues.
//
//   npx node --conditions=reprise-source examples/conversation/server.ts
import type { Server } from 'node:http'
import { join } from 'node:path'
import type { Chat } from 'reprise'
import { servePage } from '../chat/server.ts'
import { claims } from './agent.ts'
import { handlerOf } from './handler.ts'

export function serveConversations(
  chat: Chat,
  port: number,
): Promise<{ readonly server: Server; readonly url: string }> {
  return servePage(join(import.meta.dirname, 'page'), handlerOf(chat), port)
}

if (import.meta.main) {
  const { url } = await serveConversations(claims, Number(process.env['PORT'] ?? 3000))
  console.log(`open ${url}`)
  // continues the turns of a process that is gone
  await claims.resumeAll()
}
