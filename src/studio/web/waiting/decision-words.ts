// The wording of decisions, by kind of question: buttons, explanations and keys.
import type { Json } from '../../../journal/json.ts'
import type { QuestionView } from '../../api/contract.ts'
import { schemaShape, type Shape } from '../../../schema/schema-shape.ts'

interface DecisionWords {
  /** The label of the decision. */
  readonly choice: string
  /** The label of the button that sends it. */
  readonly send: string
  /** What the decision does. */
  readonly means: string
  /** The decision after it was made. */
  readonly done: string
  /** The key that selects the decision. */
  readonly key: string
}

const fail: DecisionWords = {
  choice: 'Fail the run',
  send: 'Fail the run',
  means: 'The task and the run fail with this reason. The run can be resumed.',
  done: 'failed',
  key: 'f',
}

const words: { readonly [kind in QuestionView['kind']]: { readonly [decision: string]: DecisionWords } } = {
  call: {
    approve: {
      choice: 'Approve',
      send: 'Approve the call',
      means: 'Makes the call, once.',
      done: 'approved',
      key: 'a',
    },
    deny: {
      choice: 'Deny',
      send: 'Deny the call',
      means: 'Doesn’t make the call. The agent gets the reason and continues.',
      done: 'denied',
      key: 'd',
    },
    use: {
      choice: 'Provide a result',
      send: 'Use this result',
      means: 'Doesn’t make the call. The agent gets this result instead.',
      done: 'result provided',
      key: 'u',
    },
    fail,
  },
  doubt: {
    run: {
      choice: 'It didn’t happen',
      send: 'Call it again',
      means: 'Makes the call again. Choose this only if you know that it never took effect.',
      done: 'called again',
      key: 'r',
    },
    happened: {
      choice: 'It happened',
      send: 'Use this result',
      means: 'Doesn’t repeat the call. The agent gets this result.',
      done: 'happened',
      key: 'h',
    },
    fail,
  },
  result: {
    approve: {
      choice: 'Accept',
      send: 'Accept the result',
      means: 'Keeps the result and continues the run.',
      done: 'accepted',
      key: 'a',
    },
    revise: {
      choice: 'Ask for changes',
      send: 'Ask for changes',
      means: 'The agent tries again with your feedback, and you review the new result.',
      done: 'changes requested',
      key: 'r',
    },
    replace: {
      choice: 'Replace',
      send: 'Use this instead',
      means: 'Uses your version as the result.',
      done: 'replaced',
      key: 'e',
    },
    fail,
  },
  limit: {
    raise: {
      choice: 'Raise the limit',
      send: 'Raise the limit',
      means: 'Continues the run up to the new limit.',
      done: 'limit raised',
      key: 'a',
    },
    fail,
  },
  value: {
    answer: {
      choice: 'Answer',
      send: 'Send the answer',
      means: 'Gives the flow this value.',
      done: 'answered',
      key: 'a',
    },
    fail,
  },
}

export function decisionWords(kind: QuestionView['kind'], decision: string): DecisionWords {
  return words[kind][decision] ?? { choice: decision, send: decision, means: '', done: decision, key: '' }
}

export const kindTitles: { readonly [kind in QuestionView['kind']]: string } = {
  call: 'Approve this call?',
  doubt: 'Did this call happen?',
  result: 'Accept this result?',
  limit: 'Limit reached',
  value: 'A flow asks',
}

export const kindTags: { readonly [kind in QuestionView['kind']]: string } = {
  call: 'approval',
  doubt: 'in doubt',
  result: 'review',
  limit: 'limit',
  value: 'question',
}

export const fieldLabels: { readonly [field: string]: string } = {
  reason: 'Reason',
  feedback: 'Feedback',
  result: 'Result',
  output: 'Your version',
  input: 'Arguments',
  to: 'New limit',
  value: 'Answer',
}

/** Returns the initial value of a field: what is asked about, for small corrections, or twice a reached limit. */
export function startingValue(question: QuestionView, field: string): Json | undefined {
  if (field === 'output' && question.kind === 'result') return question.output
  if (field === 'input' && question.kind === 'call') return question.input
  if (field === 'to' && question.kind === 'limit') return doubled(question.limit)
  if (field === 'value') return emptyFlags(schemaShape(question.schema))
  return field === 'reason' || field === 'feedback' ? '' : undefined
}

/** An unticked box of an object means no, and not that the value is missing. */
function emptyFlags(shape: Shape): Json | undefined {
  if (shape.type !== 'object') return undefined
  const members = shape.fields.flatMap((field): [string, Json][] => {
    const value = field.required && field.shape.type === 'flag' ? false : emptyFlags(field.shape)
    return value === undefined ? [] : [[field.name, value]]
  })
  return Object.fromEntries(members)
}

function doubled(limit: Json): Json {
  if (typeof limit !== 'object' || limit === null || Array.isArray(limit)) return {}
  return Object.fromEntries(
    Object.entries(limit).map(([name, value]) => [name, typeof value === 'number' ? value * 2 : (value as Json)]),
  )
}
