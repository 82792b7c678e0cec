// The decisions of each kind of question in the words of whoever decides: what the button says, and what it does.
import type { Json } from '../../../journal/json.ts'
import type { QuestionView } from '../../api/contract.ts'

interface DecisionWords {
  /** On the choice, and on the button that sends it. */
  readonly choice: string
  readonly send: string
  readonly means: string
  /** The key that chooses it. */
  readonly key: string
}

const fail: DecisionWords = {
  choice: 'Fail the run',
  send: 'Fail the run',
  means: 'The task fails with this reason, and the run with it. It can be resumed.',
  key: 'f',
}

const words: { readonly [kind in QuestionView['kind']]: { readonly [decision: string]: DecisionWords } } = {
  call: {
    approve: { choice: 'Approve', send: 'Approve the call', means: 'The call is made, once.', key: 'a' },
    deny: {
      choice: 'Deny',
      send: 'Deny the call',
      means: 'The call isn’t made. The agent is told why, and continues.',
      key: 'd',
    },
    use: {
      choice: 'Give a result',
      send: 'Use this result',
      means: 'The call isn’t made. The agent gets this as its result.',
      key: 'u',
    },
    fail,
  },
  doubt: {
    run: {
      choice: 'It didn’t happen',
      send: 'Call it again',
      means: 'The call is made again. Choose this if you know that it never took effect.',
      key: 'r',
    },
    happened: {
      choice: 'It happened',
      send: 'Use this result',
      means: 'The call isn’t made again. The agent gets this as its result.',
      key: 'h',
    },
    fail,
  },
  result: {
    approve: {
      choice: 'Accept',
      send: 'Accept the result',
      means: 'The result is kept, and the run continues.',
      key: 'a',
    },
    revise: {
      choice: 'Ask for changes',
      send: 'Ask for changes',
      means: 'The agent gets your feedback and tries again. You will be asked once more.',
      key: 'r',
    },
    replace: {
      choice: 'Replace it',
      send: 'Use this instead',
      means: 'Your version takes the place of the result.',
      key: 'e',
    },
    fail,
  },
  limit: {
    raise: {
      choice: 'Raise the limit',
      send: 'Raise the limit',
      means: 'The run continues up to the new limit.',
      key: 'a',
    },
    fail,
  },
}

export function decisionWords(kind: QuestionView['kind'], decision: string): DecisionWords {
  return words[kind][decision] ?? { choice: decision, send: decision, means: '', key: '' }
}

export const kindWords: { readonly [kind in QuestionView['kind']]: string } = {
  call: 'May this call be made?',
  doubt: 'Did this call happen?',
  result: 'Is this result good?',
  limit: 'The limit is used up',
}

export const kindTags: { readonly [kind in QuestionView['kind']]: string } = {
  call: 'approval',
  doubt: 'in doubt',
  result: 'review',
  limit: 'limit',
}

export const fieldWords: { readonly [field: string]: string } = {
  reason: 'Reason',
  feedback: 'What should change',
  result: 'Result',
  output: 'Your version',
  input: 'Arguments',
  to: 'New limit',
}

/** What a field begins with, so that small corrections are small. */
export function startingValue(question: QuestionView, field: string): Json | undefined {
  if (field === 'output' && question.kind === 'result') return question.output
  if (field === 'input' && question.kind === 'call') return question.input
  if (field === 'to' && question.kind === 'limit') return doubled(question.limit)
  return field === 'reason' || field === 'feedback' ? '' : undefined
}

function doubled(limit: Json): Json {
  if (typeof limit !== 'object' || limit === null || Array.isArray(limit)) return {}
  return Object.fromEntries(
    Object.entries(limit).map(([name, value]) => [name, typeof value === 'number' ? value * 2 : (value as Json)]),
  )
}
