// One reply of a model as items. Where that is just what was heard while it was said, they are the very same items, so
// that nobody needs to be told to forget them.
import type { EntryOf, ReplyPart, ToolOutcome } from '../journal/entries.ts'
import { callPath } from '../journal/paths.ts'
import type { Item, SpokenItem } from './items.ts'
import type { PartOrigin } from './message.ts'

export interface ReplyItems {
  readonly items: readonly Item[]
  /** Of the provider's own calls, by their keys: also of those in earlier replies. */
  readonly outcomes: readonly (readonly [key: string, outcome: ToolOutcome])[]
}

export function replyItems(
  { parts, seq }: EntryOf<'model.replied'>,
  origin: PartOrigin,
  heard: readonly SpokenItem[],
): ReplyItems {
  const { path } = origin
  const items: Item[] = []
  // what an answer rests on comes after it
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
  return { items: [...keepStreamedItems(items, heard), ...sources], outcomes }
}

/** With the items that were heard in place of equal ones; unless there is any difference. */
function keepStreamedItems(items: readonly Item[], heard: readonly SpokenItem[]): readonly Item[] {
  const said = items.filter((item): item is SpokenItem => item.type === 'text' || item.type === 'reasoning')
  const isEqual =
    said.length === heard.length &&
    said.every(({ type, text }, index) => heard[index]?.type === type && heard[index]?.text === text)
  if (!isEqual) return items
  for (const item of heard) item.done = true
  return items.map((item) => heard[said.indexOf(item as SpokenItem)] ?? item)
}

function providerOutcome({ result, failed }: Extract<ReplyPart, { readonly type: 'provider-result' }>): ToolOutcome {
  return failed ? { error: typeof result === 'string' ? result : JSON.stringify(result) } : { result }
}
