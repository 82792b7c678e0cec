// The model of the crash tests, over the wire: answers by what the conversation holds, so alike in every life of a run.
import { LLMock, type ChatCompletionRequest } from '@copilotkit/aimock'

type Step = { readonly calls: readonly [name: string, args: object][] } | { readonly text: string }

/** By task, then by how many tool results the conversation already has. */
const script: { readonly [task: string]: { readonly [results: number]: Step } } = {
  'Collect the facts': {
    0: {
      calls: [
        ['lookup_policy', { number: 'P-77' }],
        ['lookup_weather', { day: '2024-05-03' }],
      ],
    },
    2: { text: '{"policy":"P-77","reported":"2024-05-03"}' },
  },
  'File what was found': {
    0: { calls: [['file_claim', { policy: 'P-77' }]] },
    1: { calls: [['notify', { text: 'filed' }]] },
    2: { text: 'The claim is filed as C-P-77.' },
  },
  'Write the note': {
    0: { calls: [['lookup_policy', { number: 'P-77' }]] },
    1: { calls: [['stamp', {}]] },
    2: { text: 'Note: policy P-77, claim C-P-77.' },
  },
}

export async function openModelServer(latency: number): Promise<LLMock & AsyncDisposable> {
  const mock = new LLMock({ port: 0, host: '127.0.0.1', logLevel: 'silent', latency })
  for (const [task, steps] of Object.entries(script)) {
    for (const [results, step] of Object.entries(steps)) {
      const predicate = (request: ChatCompletionRequest): boolean =>
        textOf(request).includes(`Task: ${task}`) && toolResults(request) === Number(results)
      mock.addFixture({ match: { predicate }, response: answer(step) })
    }
  }
  await mock.start()
  return Object.assign(mock, { [Symbol.asyncDispose]: () => mock.stop() })
}

/** The requests whose conversation mentions the run. */
export function requestsOf(mock: LLMock, run: string): number {
  return mock.getRequests().filter((entry) => JSON.stringify(entry.body).includes(`run:${run};`)).length
}

function answer(step: Step): object {
  if ('text' in step) return { content: step.text }
  return {
    toolCalls: step.calls.map(([name, args], index) => ({
      id: `${name}-${index}`,
      name,
      arguments: JSON.stringify(args),
    })),
  }
}

function toolResults(request: ChatCompletionRequest): number {
  return request.messages.filter((message) => message.role === 'tool').length
}

function textOf(request: ChatCompletionRequest): string {
  return JSON.stringify(request.messages.filter((message) => message.role === 'user'))
}
