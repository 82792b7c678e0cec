// The model of the crash tests, over the wire: it answers by the conversation alone, so every life of a run gets the
// same answers.
import { LLMock, type ChatCompletionRequest, type FixtureResponse } from '@copilotkit/aimock'

type Step = ({ readonly calls: readonly [name: string, args: object][] } | { readonly text: string }) & {
  /** The web search that the provider executes within the reply. */
  readonly searches?: readonly string[]
}

/** By the first message, then by the number of tool results and corrections after it. */
const script: readonly (readonly [first: RegExp, { readonly [later: number]: Step }])[] = [
  [
    /^Task: Collect the facts/,
    {
      0: {
        calls: [
          ['lookup_policy', { number: 'P-77' }],
          ['lookup_weather', { day: '2024-05-03' }],
        ],
      },
      2: { text: '{"policy":"P-77","reported":"2024-05-03"}' },
    },
  ],
  [
    /^Task: File what was found/,
    {
      0: { calls: [['file_claim', { policy: 'P-77' }]] },
      1: { calls: [['notify', { text: 'filed' }]] },
      2: { text: 'The claim is filed as C-P-77.' },
    },
  ],
  [
    /^Task: Write the note/,
    {
      0: { calls: [['lookup_policy', { number: 'P-77' }]] },
      1: { calls: [['stamp', {}]] },
      2: { text: 'Note: policy P-77, claim C-P-77.' },
    },
  ],
  [/^Task: Measure/, { 0: { calls: [['measure', {}]] }, 1: { text: 'measured' } }],
  [
    /^Task: Search/,
    {
      0: { searches: ['weather'], calls: [['measure', {}]] },
      1: { searches: ['again'], text: 'searched and measured' },
    },
  ],
  [/^Task: Amount/, { 0: { text: '{"amount":7}' } }],
  [/^Task: Draft/, { 0: { text: 'rough' }, 1: { text: 'draft' }, 2: { text: 'final' } }],
  [/^The rule: .*\n[\s\S]*The result:\ndraft$/, { 0: { text: '{"accept":false,"reason":"it is a draft"}' } }],
  [/^The rule: .*\n[\s\S]*The result:\nfinal$/, { 0: { text: '{"accept":true,"reason":""}' } }],
  [
    /^Task: Settle the bill/,
    {
      0: {
        calls: [
          ['pay', { amount: 500 }],
          ['tip', { amount: 50 }],
          ['book', { amount: 5 }],
        ],
      },
      3: { text: 'settled' },
    },
  ],
  [
    /^Task: Manage/,
    {
      0: {
        calls: [
          ['delegate_work', { coworker: 'Helper', task: 'Measure it' }],
          ['ask_coworker', { coworker: 'Helper', question: 'How long?' }],
        ],
      },
      2: { text: 'managed' },
    },
  ],
  [/hands you this piece of work: Measure it/, { 0: { calls: [['measure', {}]] }, 1: { text: 'measured' } }],
  [/asks you: How long\?/, { 0: { text: 'long' } }],
  // only if the request contains the bytes of the file
  [/^Task: Sum up \[file claim\.pdf\][\s\S]*base64,JVBERi0xLjcK/, { 0: { text: '{"total":7}' } }],
  [/^Task: Look at \[file /, { 0: { text: 'a claim' } }],
  [/^Task: Write a letter/, { 0: { text: '# Letter\n\nSeven.' } }],
  [
    /^Task: Post it/,
    {
      0: { calls: [['put', { text: 'put of post' }]] },
      1: { calls: [['send', { text: 'send of post' }]] },
      2: { text: 'posted' },
    },
  ],
  [/^Task: Read it(?![\s\S]*Its summary:)/, { 0: { calls: [['page', {}]] }, 1: { calls: [['page', {}]] } }],
  [/^The task is:\n[\s\S]*The conversation to summarise:/, { 0: { text: 'words, words' } }],
  [/^Task: Read it[\s\S]*Its summary:\nwords, words/, { 0: { text: 'read' } }],
  [/^Task: Wait/, { 0: { calls: [['wait', {}]] }, 1: { text: 'waited' } }],
  [/^Task: Plain/, { 0: { text: 'plain' }, 1: { text: 'plainer' } }],
]

export async function openModelServer(latency: number): Promise<LLMock & AsyncDisposable> {
  // keeps all requests
  const journalMaxEntries = 0
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent', latency, chunkSize: 3, journalMaxEntries })
  for (const [first, steps] of script) {
    for (const [later, step] of Object.entries(steps)) {
      const predicate = (request: ChatCompletionRequest): boolean =>
        first.test(firstMessage(request, true)) && laterMessages(request) === Number(later)
      mock.addFixture({ match: { predicate }, response: (request) => answer(step, request) })
    }
  }
  await mock.start()
  return Object.assign(mock, { [Symbol.asyncDispose]: () => mock.stop() })
}

/** The names of the steps whose requests mention the run, in order. */
export function requestsOf(mock: LLMock, run: string): string[] {
  return bodiesOf(mock, run).map(stepOf)
}

/** How many of these requests were answered by a stream. */
export function streamedOf(mock: LLMock, run: string): number {
  return bodiesOf(mock, run).filter(({ stream }) => stream).length
}

/**
 * By server: the number of requests read so far, and the requests of each run. Cached, because hundreds of runs read
 * theirs often.
 */
const sorted = new WeakMap<LLMock, { read: number; readonly byRun: Map<string, ChatCompletionRequest[]> }>()

function bodiesOf(mock: LLMock, run: string): readonly ChatCompletionRequest[] {
  const known = sorted.get(mock) ?? { read: 0, byRun: new Map<string, ChatCompletionRequest[]>() }
  sorted.set(mock, known)
  const requests = mock.getRequests()
  for (const { body } of requests.slice(known.read)) {
    const named = new Set([...JSON.stringify(body).matchAll(/run:([^;]+);/g)].map(([, name = '']) => name))
    for (const name of named) known.byRun.set(name, [...(known.byRun.get(name) ?? []), body as ChatCompletionRequest])
  }
  known.read = requests.length
  return known.byRun.get(run) ?? []
}

/**
 * Identifies a step, on the wire and in a journal: the first message, the corrections, and the turn after the last of
 * them.
 */
export function stepName(first: string, corrections: number, turn: number): string {
  return `${first} (corrected ${corrections} times, turn ${turn})`
}

function stepOf(request: ChatCompletionRequest): string {
  const roles = request.messages.map(({ role }) => role)
  const corrections = roles.filter((role) => role === 'user').length - 1
  const turn = roles.slice(roles.lastIndexOf('user')).filter((role) => role === 'assistant').length + 1
  return stepName(firstMessage(request), corrections, turn)
}

// Where a model takes no schema beside tools, its package offers the schema as a tool, and the answer is a call of
// that.
function answer(step: Step, { tools }: ChatCompletionRequest): FixtureResponse {
  const usage = { prompt_tokens: 10, completion_tokens: 5 }
  const searched = step.searches ? { webSearches: [...step.searches] } : {}
  const asTool = tools?.some((tool) => tool.function.name === 'json')
  if ('text' in step && !asTool) return { content: step.text, usage, ...searched }
  const calls = 'text' in step ? [['json', JSON.parse(step.text) as object] as const] : step.calls
  return {
    usage,
    ...searched,
    toolCalls: calls.map(([name, args], index) => ({
      id: `${name}-${index}`,
      name,
      arguments: JSON.stringify(args),
    })),
  }
}

function laterMessages(request: ChatCompletionRequest): number {
  return request.messages.filter(({ role }) => role === 'tool' || role === 'user').length - 1
}

function firstMessage(request: ChatCompletionRequest, withFiles = false): string {
  const content = request.messages.find(({ role }) => role === 'user')?.content ?? ''
  if (typeof content === 'string') return content
  return content.map((part) => part.text ?? (withFiles ? JSON.stringify(part) : '')).join('')
}
