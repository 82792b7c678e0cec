// A model that streams what a test gives it, piece by piece, and waits where the test says.
import { APICallError } from 'ai'
import { Agent, Crew, Task } from 'reprise'
import type { LanguageModelV4 } from '../../../src/models/resolve/resolve-model.ts'
import type { Store } from '../../../src/stores/store.ts'
import { newStore } from '../../engine/support.ts'

/** A text; a thought; something to wait for; or how the call fails. */
export type Piece = string | { readonly thought: string } | Promise<unknown> | Error

export interface SpeakingModel extends LanguageModelV4 {
  /** How it was asked, call by call. */
  readonly asked: ('streamed' | 'whole')[]
}

export function speakingModel(say: (call: number) => Iterable<Piece>): SpeakingModel {
  const asked: SpeakingModel['asked'] = []
  const ending = {
    finishReason: { unified: 'stop' as const, raw: 'stop' },
    usage: {
      inputTokens: { total: 7, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
      outputTokens: { total: 3, text: undefined, reasoning: undefined },
    },
  }
  async function* stream(call: number) {
    yield { type: 'stream-start' as const, warnings: [] }
    yield { type: 'reasoning-start' as const, id: '1' }
    yield { type: 'text-start' as const, id: '0' }
    for (const piece of say(call)) {
      if (piece instanceof Error) throw piece
      if (piece instanceof Promise) await piece
      else if (typeof piece === 'string') yield { type: 'text-delta' as const, id: '0', delta: piece }
      else yield { type: 'reasoning-delta' as const, id: '1', delta: piece.thought }
    }
    yield { type: 'finish' as const, ...ending }
  }
  return {
    specificationVersion: 'v4',
    provider: 'test',
    modelId: 'speaking',
    supportedUrls: {},
    asked,
    doStream: () => Promise.resolve({ stream: ReadableStream.from(stream(asked.push('streamed'))) }),
    async doGenerate() {
      const content: { type: 'text' | 'reasoning'; text: string }[] = []
      for await (const part of stream(asked.push('whole'))) {
        if (part.type !== 'text-delta' && part.type !== 'reasoning-delta') continue
        const type = part.type === 'text-delta' ? 'text' : 'reasoning'
        const last = content.at(-1)
        if (last?.type === type) last.text += part.delta
        else content.push({ type, text: part.delta })
      }
      return { content, ...ending, warnings: [] }
    },
  }
}

/** As a server that is busy for a moment. */
export function busy(): Error {
  const responseHeaders = { 'retry-after-ms': '0' }
  return new APICallError({ message: 'busy', url: 'test:', requestBodyValues: {}, statusCode: 503, responseHeaders })
}

/** A crew of these tasks, with one model call each. */
export function speakingCrew(
  model: LanguageModelV4,
  {
    tasks = ['note'],
    store = newStore(),
    prompt = '',
  }: { readonly tasks?: readonly string[]; readonly store?: string | Store; readonly prompt?: string } = {},
): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'Speak', model })
  return new Crew({
    name: 'speaking',
    tasks: tasks.map((name) => new Task({ name, description: `Say ${name}${prompt}`, agent })),
    store,
  })
}

/** A place to wait at. */
export function gate(): { readonly wait: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { wait: promise, open: () => resolve() }
}
