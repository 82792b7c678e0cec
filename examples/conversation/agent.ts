// The agent of the conversation. It needs no key: its model is a script, streamed word by word.
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, chat, tool, type Chat, type LanguageModel } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { slowly } from '../chat/crew.ts'

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: ({ number }) => ({ number, holder: 'Ada Lovelace', covers: 'water damage' }),
})

export const script = scriptedModel([
  { when: /P-77/, calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }] },
  { when: /cellar[^]*P-77[^]*thank/i, reply: 'You are welcome. An assessor will call you within two days.' },
  { when: /cellar[^]*P-77/, reply: 'Thank you, Ada. Policy P-77 covers water damage, so we pay for the carpet.' },
  { when: /cellar/, reply: 'I am sorry about the water in your cellar. What is the number of your policy?' },
  { when: /./, reply: 'Tell me what happened, please.' },
])

/** Conversations with the agent, over another model. */
export function claimsChat(model: LanguageModel): Chat {
  return chat(new Agent({ role: 'Claims clerk', goal: 'Help people with damages', tools: [lookupPolicy], model }))
}

export const claims = claimsChat(slowly(script, () => wait(60)))
