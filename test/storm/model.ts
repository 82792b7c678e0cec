// A deterministic model: the text of a task decides which tools it calls and how many answers it has.
import {
  readConversation,
  type Conversation,
  scriptedModel,
  type ScriptEntry,
} from '../../src/testing/scripted-model.ts'
import type { LanguageModelV4 } from '../../src/models/resolve/resolve-model.ts'
import type { Ledger } from './ledger.ts'
import { choiceOf, hashOf } from './random.ts'

type Request = Parameters<LanguageModelV4['doGenerate']>[0]

export function stormModel(ledger: Ledger): LanguageModelV4 {
  const asked = (request: Request): LanguageModelV4 => {
    const conversation = readConversation(request.prompt)
    ledger.note({ what: 'request', of: hashOf(conversation.asked.conversation) })
    return scriptedModel([{ when: () => true, ...answerTo(request, conversation) }], { name: 'storm' })
  }
  return {
    ...scriptedModel([], { name: 'storm' }),
    doGenerate: async (request) => asked(request).doGenerate(request),
    doStream: async (request) => asked(request).doStream(request),
  }
}

type Answer = Pick<ScriptEntry, 'calls' | 'reply' | 'repeat'>

function answerTo({ prompt }: Request, { asked: { conversation }, made }: Conversation): Answer {
  const messages = prompt.filter(({ role }) => role === 'user')
  const first = JSON.stringify(messages[0]?.content ?? '')
  const corrections = messages.length - 1
  const judged = /^The rule: [\s\S]*The result:\s*([\s\S]*)$/m.exec(conversation)?.[1]
  if (judged !== undefined) {
    const accept = isGood(judged)
    return { reply: { accept, reason: accept ? '' : 'it is rough' } }
  }
  const task = /Task: T (\S+) v\d+ calls=(\S*) answers=(\d+) (plain|json) (\S+)/.exec(conversation)
  if (!task) {
    // a coworker that received a task or a question
    const of = choiceOf(first, 2)
    return callsOr(made, [{ tool: 'put', input: { n: 9, of } }], `helped ${choiceOf(conversation, 3)}`)
  }
  const [, name = '', wanted = '', answers = '1', form, delegates] = task
  const of = choiceOf(first, 2)
  for (const [tool = '', times = '1'] of wanted.split(',').map((one) => one.split('*'))) {
    if (tool === '' || made.some((call) => call.startsWith(`${tool}(`))) continue
    return { calls: Array.from({ length: Number(times) }, (_, n) => ({ tool, input: { n, of } })), repeat: true }
  }
  if (delegates !== 'alone' && !made.some((call) => call.startsWith('delegate_work(')))
    return {
      calls: [{ tool: 'delegate_work', input: { coworker: 'Helper', task: `Help with ${name}, ${of}` } }],
      repeat: true,
    }
  const is = choiceOf(conversation, Number(answers))
  return { reply: form === 'json' ? { name, is, tries: corrections } : `${name}=${is} tries ${corrections}` }
}

function callsOr(made: readonly string[], calls: NonNullable<Answer['calls']>, reply: string): Answer {
  return made.length < calls.length ? { calls, repeat: true } : { reply }
}

/** The guardrails' verdict on an answer. They accept every corrected answer. */
export function isGood(answer: string): boolean {
  return !/tries"?:? ?0/.test(answer) || choiceOf(answer, 2) > 0
}
