// The chat as one function from Request to Response. A chat is a run of the crew, with the id of the chat. A person's
// answers arrive with the message that they continue.
import { RepriseError, type Crew } from 'reprise'
import { answersFrom, lastEntryNumber, toUIMessageResponse, type RunUIMessage } from 'reprise/ui'
import { z } from 'zod'

const posted = z.object({
  id: z.string(),
  messages: z.array(z.custom<RunUIMessage>()).min(1),
  /** Answers to questions other than tool approvals, which are part of the messages. */
  answers: z.array(z.object({ question: z.string(), answer: z.object({ decision: z.literal('run') }) })).default([]),
})

/** This page shows what the tools do. */
const expose = { tools: true }

export function chatOf(crew: Crew): (request: Request) => Promise<Response> {
  return async (request) => {
    const [, id = '', stream] = /^\/api\/chat\/([^/]+)(\/stream)?$/.exec(new URL(request.url).pathname) ?? []
    try {
      if (request.method === 'POST') return await post(crew, request)
      // a page that reconnects: first the user's message, then the stream of the run
      return stream ? await toUIMessageResponse(crew.run(id), request, { expose }) : await firstMessage(crew, id)
    } catch (error) {
      const code = RepriseError.isInstance(error) ? error.code : undefined
      // a chat without messages
      if (code === 'RUN_NOT_FOUND') return new Response(null, { status: 204 })
      if (code === 'INPUTS_DIFFER')
        return new Response('This chat already has a report. Start a new chat for another one.', { status: 409 })
      // perhaps in another tab
      if (code === 'QUESTION_ANSWERED')
        return new Response('This question was already answered. Reload the page to see the answer.', { status: 409 })
      if (code === 'OPTION_INVALID' || code === 'QUESTION_NOT_FOUND')
        return new Response('That is not a message of this chat.', { status: 400 })
      console.error(error)
      return Response.json({ message: 'something went wrong' }, { status: 500 })
    }
  }
}

async function post(crew: Crew, request: Request): Promise<Response> {
  const { id, messages, answers } = posted.parse(await request.json())
  const last = messages.at(-1)
  if (last?.role === 'user') {
    const notes = last.parts.map((part) => (part.type === 'text' ? part.text : '')).join('')
    const run = await crew.kickoff({ id, inputs: { notes }, whenHeld: 'follow' }).started
    return toUIMessageResponse(run, request, { expose })
  }
  // a real server would check here who may answer
  for (const { question, answer } of [...answersFrom(last), ...answers]) await crew.run(id).answer(question, answer)
  const run = await crew.run(id).resume({ whenHeld: 'follow' }).started
  return toUIMessageResponse(run, request, { after: lastEntryNumber(last), expose })
}

async function firstMessage(crew: Crew, id: string): Promise<Response> {
  const { inputs } = await crew.run(id).view()
  return Response.json([{ id: `user-${id}`, role: 'user', parts: [{ type: 'text', text: inputs['notes'] }] }])
}
