// The crew of the chat: it looks a policy up, files a claim if a person allows it, and writes to the customer. It needs
// no key: its model is a script, streamed word by word.
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, Crew, Task, tool, type LanguageModel } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'

const lookupPolicy = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: ({ number }) => ({ number, holder: 'Ada Lovelace', covers: 'water damage', since: '2020-01-01' }),
})

const fileClaim = tool({
  name: 'file_claim',
  description: 'File a claim; returns its number',
  effect: 'once',
  approval: true,
  input: z.object({ policy: z.string(), amount: z.number() }),
  run: ({ policy }) => ({ claim: `CL-${policy.replaceAll(/\D/g, '')}` }),
})

export const script = scriptedModel([
  {
    when: 'Establish the facts',
    reply: 'Let me look at the policy first.',
    calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }],
  },
  {
    when: 'Establish the facts',
    reply: 'Policy P-77 of Ada Lovelace covers water damage. The damage is about 1,800 euros.',
  },
  {
    when: 'File the claim',
    reply: 'The facts are clear, so I file the claim.',
    calls: [{ tool: 'file_claim', input: { policy: 'P-77', amount: 1800 } }],
  },
  { when: 'File the claim', after: /CL-/, reply: 'The claim is filed as CL-77.' },
  { when: 'File the claim', reply: 'The claim was not filed.' },
  {
    when: 'Write to the customer',
    reply:
      'Dear Ada, we are sorry about the water in your cellar. Your policy covers it. We have your claim, and an assessor will call you ' +
      'within two days to look at the damage. Please keep the damaged things until then, and send us photographs if you can. Kind regards.',
  },
])

/** Streams word by word, as a real model does: a scripted model streams everything at once. */
export function slowly(model: typeof script, pause: (word: string) => Promise<unknown>): LanguageModel {
  const doStream: typeof model.doStream = async (request) => {
    const { stream } = await model.doStream(request)
    async function* words() {
      for await (const part of stream) {
        if (part.type === 'text-delta') await pause(part.delta)
        yield part
      }
    }
    return { stream: ReadableStream.from(words()) }
  }
  return { ...model, doStream }
}

const model = slowly(script, () => wait(60))
const clerk = new Agent({ role: 'Claims clerk', goal: 'Handle claims', tools: [lookupPolicy, fileClaim], model })
const writer = new Agent({ role: 'Writer', goal: 'Write to customers', model })

const facts = new Task({ name: 'facts', description: 'Establish the facts of: {notes}', agent: clerk })
const filing = new Task({ name: 'filing', description: 'File the claim and give its number', agent: clerk })
const letter = new Task({ name: 'letter', description: 'Write to the customer', agent: writer })

export const crew = new Crew({ name: 'chat', tasks: [facts, filing, letter] })
