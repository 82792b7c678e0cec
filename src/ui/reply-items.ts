// One reply of a model as items. If it equals the streamed items, those are reused, so that no reader has to drop them.
import type { EntryOf, ReplyPart, ToolOutcome } from '../journal/entries.ts'
import { callPath } from '../journal/paths.ts'
import type { Item, TextItem } from './items.ts'
import type { PartOrigin } from './message.ts'

export interface ReplyItems {
  readonly items: readonly Item[]
  /** Outcomes of the provider's own calls, by key, with calls of earlier replies. */
  readonly outcomes: readonly (readonly [key: string, outcome: ToolOutcome])[]
}

export function replyItems(
  { parts, seq }: EntryOf<'model.replied'>,
  origin: PartOrigin,
  streamed: readonly TextItem[],
): ReplyItems {
  const { path } = origin
  const items: Item[] = []
  // sources come after the answer
  const sources: Item[] = []
  const outcomes: [string, ToolOutcome][] = []
  let calls = 0
  let texts = 0
  // providers may use an id twice in a conversation, but not in a task
  const ownKey = (id: string): string => `${origin.task}:${id}`
  for (const part of parts) {
    switch (part.type) {
      case 'text':
      case 'reasoning': {
        if (part.text === '') break
        const last = items.at(-1)
        if (last?.type === part.type) last.text += part.text
        else items.push({ type: part.type, key: `${path}:${texts++}`, origin, text: part.text, done: true })
        break
      }
      case 'call': {
        const key = callPath(path, calls++)
        const { tool, input } = part
        items.push({ type: 'tool', key, origin, tool, asked: input, input, provider: false })
        break
      }
      case 'provider-call': {
        const { tool, input } = part
        items.push({ type: 'tool', key: ownKey(part.id), origin, tool, asked: input, input, provider: true })
        break
      }
      case 'provider-result':
        outcomes.push([ownKey(part.id), providerOutcome(part)])
        break
      case 'source':
        sources.push({ type: 'source', key: `${seq}:${sources.length}`, source: part })
        break
      case 'file':
        items.push({ type: 'file', key: `${seq}:${items.length}`, file: part })
        break
      case 'custom':
        break
    }
  }
  return { items: [...keepStreamedItems(items, streamed), ...sources], outcomes }
}

/** Reuses the streamed items if all are equal. */
function keepStreamedItems(items: readonly Item[], streamed: readonly TextItem[]): readonly Item[] {
  const recorded = items.filter((item): item is TextItem => item.type === 'text' || item.type === 'reasoning')
  const isEqual =
    recorded.length === streamed.length &&
    recorded.every(({ type, text }, index) => streamed[index]?.type === type && streamed[index]?.text === text)
  if (!isEqual) return items
  for (const item of streamed) item.done = true
  return items.map((item) => streamed[recorded.indexOf(item as TextItem)] ?? item)
}

function providerOutcome({ result, failed }: Extract<ReplyPart, { readonly type: 'provider-result' }>): ToolOutcome {
  return failed ? { error: typeof result === 'string' ? result : JSON.stringify(result) } : { result }
}
