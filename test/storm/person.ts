// The answers of an honest person. The ledger decides whether a call happened; every other answer depends only on the
// question, so that it is the same in every history.
import type { Answer, Question } from 'reprise'
import { effectsIn, type Effect, type Ledger } from './ledger.ts'
import { choiceOf } from './random.ts'

/**
 * Returns undefined to leave the question open. `happened`: the effect of the call in doubt, if it happened.
 * `doubtsOnly`: answer only questions about calls in doubt.
 */
export function answerTo(
  question: Question,
  ledger: Ledger,
  happened: Effect | undefined,
  doubtsOnly: boolean,
): Answer | undefined {
  if (question.kind === 'doubt')
    return happened ? { decision: 'happened', result: happened.result } : { decision: 'run' }
  if (doubtsOnly || question.kind === 'limit' || question.kind === 'value') return undefined
  if (question.kind === 'call') return decideCall(question, effectsIn(ledger.all()))
  const { output, round } = question
  const mood = choiceOf([output, round], 8)
  if (mood === 0 && typeof output === 'string')
    return { decision: 'replace', output: `replaced ${choiceOf(output, 3)}` }
  return mood < 3 && round === 1 ? { decision: 'revise', feedback: 'say it again' } : { decision: 'approve' }
}

function decideCall({ tool, input, earlier }: Question & { kind: 'call' }, effects: readonly Effect[]): Answer {
  const mood = choiceOf([tool, input], 5)
  if (tool === 'send' && mood === 0) return { decision: 'deny', reason: 'not this one' }
  const known = effects.find((one) => one.tool === tool && choiceOf(one.input, 1e9) === choiceOf(input, 1e9))
  // a tool always returns the same; only the function knows its own result
  return mood === 1 && earlier.length > 0 && known && ['pay', 'send', 'book'].includes(tool)
    ? { decision: 'use', result: known.result }
    : { decision: 'approve' }
}
