// The chat as one function from Request to Response: a chat is a run of the crew, which has the id of the chat. What a person answers comes
// with the message that it continues.
import { RepriseError, type Crew } from 'reprise'
import { answersFrom, lastEntryNumber, toUIMessageResponse, type RunUIMessage } from 'reprise/ui'
import { z } from 'zod'

const posted = z.object({
  id: z.string(),
  messages: z.array(z.custom<RunUIMessage>()).min(1),
  /** To questions that are not approvals of tools. */
  answers: z.array(z.object({ question: z.string(), answer: z.object({ decision: z.literal('run') }) })).default([]),
})

/** This page shows what the tools do. */
const expose = { tools: true }

export function chatOf(crew: Crew): (request: Request) => Promise<Response> {
  return async (request) => {
    const [, id = '', stream] = /^\/api\/chat\/([^/]+)(\/stream)?$/.exec(new URL(request.url).pathname) ?? []
    try {
      if (request.method === 'POST') return await post(crew, request)
      // a page that reconnects: the first message, and everything after it
      return stream ? await toUIMessageResponse(crew.run(id), request, { expose }) : await begun(crew, id)
    } catch (error) {
      const code = RepriseError.isInstance(error) ? error.code : undefined
      // a chat without messages
      if (code === 'RUN_NOT_FOUND') return new Response(null, { status: 204 })
      if (code === 'INPUTS_DIFFER')
        return new Response('This chat has its report. Begin another chat for another one.', { status: 409 })
      // in another tab, perhaps
      if (code === 'QUESTION_ANSWERED')
        return new Response('This has its answer already. Load the page again to see it.', { status: 409 })
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
  // here a real server looks at who may answer
  for (const { question, answer } of [...answersFrom(last), ...answers]) await crew.run(id).answer(question, answer)
  const run = await crew.run(id).resume({ whenHeld: 'follow' }).started
  return toUIMessageResponse(run, request, { after: lastEntryNumber(last), expose })
}

async function begun(crew: Crew, id: string): Promise<Response> {
  const { inputs } = await crew.run(id).view()
  return Response.json([{ id: `user-${id}`, role: 'user', parts: [{ type: 'text', text: inputs['notes'] }] }])
}
