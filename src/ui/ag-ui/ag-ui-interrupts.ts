// What a suspended run waits for, as AG-UI has it: a client answers each by its id, in its next request.
import { decisions } from '../../engine/people/questions.ts'
import type { AgUiInterrupt } from './ag-ui-events.ts'
import { callId } from './ag-ui-messages.ts'
import type { QuestionData } from '../message.ts'
import type { Narration } from '../narration.ts'

/** At least one: without open questions, that the run is resumed. */
export function interruptsOf({ state, items }: Narration): [AgUiInterrupt, ...AgUiInterrupt[]] {
  const open = items.flatMap((item) => (item.type === 'question' && item.data.status === 'open' ? [item.data] : []))
  const asked = open.map((question) => ({
    id: question.id,
    reason: `reprise.${question.kind}`,
    message: question.text,
    ...(question.kind === 'call' && items.some((item) => item.type === 'tool' && item.key === question.path)
      ? { toolCallId: callId(state.run, { key: question.path }) }
      : {}),
    responseSchema: answerSchema(question.kind),
  }))
  const [first, ...rest] = asked
  if (first) return [first, ...rest]
  const reason = `reprise.${state.suspended?.reason ?? 'stopped'}`
  return [{ id: 'resume', reason, message: `Run ${state.run} is suspended; it continues when it is resumed.` }]
}

const texts = ['feedback', 'reason', 'note']

/** JSON Schema of the answers to a kind of question. */
function answerSchema(kind: QuestionData['kind']): object {
  const field = (name: string): [string, object] => [name, texts.includes(name) ? { type: 'string' } : {}]
  return {
    oneOf: Object.entries(decisions[kind]).map(([decision, { must, may = [] }]) => ({
      type: 'object',
      properties: {
        decision: { const: decision },
        ...Object.fromEntries([...must, ...may, 'note'].map(field)),
      },
      required: ['decision', ...must],
      additionalProperties: false,
    })),
  }
}
