// Shared by the tests of conversations: agents whose answers depend on everything that they are sent, so that a lost
// or repeated turn changes all later answers.
import { createHash } from 'node:crypto'
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { Agent, chat, tool, type Chat, type ChatOptions } from 'reprise'
import { scriptedModel, type ScriptEntry } from 'reprise/testing'
import { z } from 'zod'
import type { Store } from '../../src/stores/store.ts'
import { newStore } from '../engine/support.ts'
import { quiet } from '../flows/support.ts'

const digestOf = (all: string): string => createHash('sha256').update(all).digest('hex').slice(0, 12)

type Model = ReturnType<typeof scriptedModel>

/** A chat whose model answers with a digest of everything that it is sent. */
export function talker(
  options: ChatOptions = {},
  script: readonly ScriptEntry[] = [],
  agentOptions: { readonly contextTokens?: number } = {},
): { readonly chat: Chat; readonly model: Model; readonly store: Store } {
  const { store = newStore(), ...others } = options
  const model = scriptedModel([...script, { when: /./, reply: digestOf }])
  const agent = new Agent({ role: 'Helper', goal: 'Help', model, ...agentOptions })
  return { chat: chat(agent, { store, logger: quiet, ...others }), model, store: store as Store }
}

const turns = 200

/** A chat whose agent calls a `once` tool in every fourth turn. The tool appends a line to the ledger. */
export function ledgerChat(store: Store, ledger: string): Chat {
  const lines = (): string[] => (existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').filter(Boolean) : [])
  const book = tool({
    name: 'book',
    description: 'Book a number',
    effect: 'once',
    input: z.object({ n: z.number() }),
    settle: (_, { n }) => (lines().includes(`${n}`) ? { happened: true, result: { booked: n } } : { happened: false }),
    run: ({ n }) => {
      appendFileSync(ledger, `${n}\n`)
      return { booked: n }
    },
  })
  const newest = (all: string): number => Number(all.slice(all.lastIndexOf('book number ')).match(/\d+/)?.[0])
  const booking = Array.from({ length: turns / 4 }, (_, index): ScriptEntry => {
    const n = (index + 1) * 4
    return { when: (all) => newest(all) === n, calls: [{ tool: 'book', input: { n } }] }
  })
  const script = [...booking, { when: /./, reply: digestOf }]
  const agent = new Agent({ role: 'Clerk', goal: 'Book numbers', model: scriptedModel(script), tools: [book] })
  return chat(agent, { store, logger: quiet, turnsPerRun: 40 })
}

/** Sends the messages that have no answer yet, one after another. Returns all texts. */
export async function talkOn(served: Chat): Promise<string[]> {
  const conversation = served.conversation('c')
  const known = await conversation.messages()
  const answered = known.filter(({ role }) => role === 'assistant').length
  for (let n = answered + 1; n <= turns; n++) await conversation.send(`book number ${n}`, { id: `m${n}` })
  return (await conversation.messages()).map(({ text }) => text)
}
