// A program that registers the AI SDK's own spans (`@ai-sdk/otel`) beside crews with telemetry.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { OpenTelemetry } from '@ai-sdk/otel'
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
} from '@opentelemetry/sdk-trace-base'
import { generateText, registerTelemetry } from 'ai'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import type { Tracer } from '../../../src/crew/telemetry/telemetry.ts'

const exporter = new InMemorySpanExporter()
const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const tracer = provider.getTracer('test')

const model = scriptedModel([{ when: '', reply: 'done', usage: { input: 10, output: 4 } }])

function crewOf(telemetry?: { readonly tracer: Tracer }): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'g', model })
  const tasks = ['facts', 'note'].map((name) => new Task({ name, description: name, agent }))
  return new Crew({ name: 'claims', tasks, store: 'memory:', ...(telemetry && { telemetry }) })
}

/** The spans of what `work` does that carry tokens, as `operation: tokens in`. */
async function counted(work: () => PromiseLike<unknown>): Promise<string[]> {
  exporter.reset()
  await work()
  return exporter.getFinishedSpans().flatMap((span) => {
    const tokens = span.attributes['gen_ai.usage.input_tokens']
    return tokens === undefined ? [] : [`${operation(span)}: ${String(tokens)}`]
  })
}

function operation(span: ReadableSpan): string {
  return String(span.attributes['gen_ai.operation.name'])
}

describe('with the spans of the AI SDK registered,', () => {
  before(() => registerTelemetry(new OpenTelemetry({ tracer })))
  // registered for the whole process, with no other way to undo it
  after(() => {
    globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = undefined
  })

  test('each token of a crew with telemetry is on one span', async () => {
    const crew = crewOf({ tracer })
    assert.deepEqual(await counted(() => crew.kickoff()), ['chat: 10', 'chat: 10'])
    // streamed as well
    const streamed = await counted(async () => {
      const run = await crew.kickoff().started
      await Array.fromAsync(run.events())
      await run.result()
    })
    assert.deepEqual(streamed, ['chat: 10', 'chat: 10'])
  })

  test("a crew without telemetry, and the program's own calls, keep the spans of the AI SDK", async () => {
    const own = await counted(() => generateText({ model, prompt: 'Say it' }))
    assert.deepEqual(own, ['chat: 10', 'invoke_agent: 10'])
    const crew = crewOf()
    assert.deepEqual(await counted(() => crew.kickoff()), [...own, ...own])
  })
})
