// The conversation as one function from Request to Response.
import { RepriseError, type Chat } from 'reprise'
import { toUIMessageResponse, toUIMessages, type RunUIMessage } from 'reprise/ui'

interface Posted {
  readonly id: string
  readonly messages: readonly RunUIMessage[]
}

export function handlerOf(chat: Chat): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      return await respond(chat, request)
    } catch (error) {
      if (!RepriseError.isInstance(error) || !['INPUT_INVALID', 'INPUTS_DIFFER'].includes(error.code)) throw error
      return new Response('That is not a message of this conversation.', { status: 400 })
    }
  }
}

async function respond(chat: Chat, request: Request): Promise<Response> {
  const [path, id, what] = /^\/api\/chat(?:\/([^/]+)(\/stream|\/stop)?)?$/.exec(new URL(request.url).pathname) ?? []
  if (path === undefined) return new Response(null, { status: 404 })
  if (id === undefined) {
    const body = (await request.json()) as Posted
    return toUIMessageResponse(chat.conversation(body.id), body)
  }
  const conversation = chat.conversation(decodeURIComponent(id))
  if (what === '/stop' && request.method === 'POST') return Response.json({ stopped: await conversation.stop() })
  // a page that reconnects gets the turn in progress; before that, the messages so far
  return what ? toUIMessageResponse(conversation, request) : Response.json(await toUIMessages(conversation))
}
