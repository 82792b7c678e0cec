// Answers to approvals that a page sends back.
import type { UIMessage } from 'ai'
import { wrong } from '../../base/checks.ts'

/** An answer for `run.answer(question, answer)`. */
export interface QuestionAnswer {
  readonly question: string
  readonly answer:
    | { readonly decision: 'approve'; readonly note?: string }
    | { readonly decision: 'deny'; readonly reason: string }
}

/**
 * The answers to tool approvals in a message from a browser (`addToolApprovalResponse`). The server decides who may
 * answer. OPTION_INVALID if it isn't a message.
 */
export function answersFrom(message: Pick<UIMessage, 'parts'> | undefined): QuestionAnswer[] {
  if (message === undefined) return []
  const { parts } = requireObject('the message', message)
  if (!Array.isArray(parts)) throw wrong('parts of the message', parts, 'a list of parts')
  return parts.flatMap((part: unknown, index) => readPartAnswer(`part ${index + 1} of the message`, part))
}

function readPartAnswer(what: string, part: unknown): QuestionAnswer[] {
  const { state, approval } = requireObject(what, part)
  if (state !== 'approval-responded') return []
  const { id: question, approved, reason = '' } = requireObject(`approval of ${what}`, approval)
  if (typeof question !== 'string') throw wrong(`id of the approval of ${what}`, question, 'the id of a question')
  if (typeof approved !== 'boolean') throw wrong(`approved of ${what}`, approved, 'true or false')
  if (typeof reason !== 'string') throw wrong(`reason of the approval of ${what}`, reason, 'a text')
  if (approved) return [{ question, answer: { decision: 'approve', ...(reason === '' ? {} : { note: reason }) } }]
  return [{ question, answer: { decision: 'deny', reason: reason.trim() === '' ? 'a person denied it' : reason } }]
}

function requireObject(what: string, value: unknown): { readonly [field: string]: unknown } {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  throw wrong(what, value, 'an object, as the AI SDK sends it')
}
