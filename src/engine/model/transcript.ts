// A conversation as text, for the model that summarises it.
import type { ChatMessage } from '../../journal/entries.ts'
import type { ToolOutcome } from '../../journal/state/state.ts'
import { clip, longestThatFits } from '../../text/clip.ts'

type Line = readonly [label: string, text: string]

/** The task and the messages after it, in about `characters` characters. The longest texts lose their middle. */
export function transcript(
  task: string,
  messages: readonly ChatMessage[],
  characters: number,
): { readonly task: string; readonly done: string } {
  const lines = messages.flatMap(linesOf)
  const longest = longestThatFits(
    [task, ...lines.map(([, text]) => text)].map((text) => text.length),
    characters,
  )
  const done = lines.map(([label, text]) => `${label} ${clip(text, longest)}`).join('\n\n')
  return { task: clip(task, longest), done }
}

function linesOf(message: ChatMessage): Line[] {
  switch (message.role) {
    case 'user':
      return [['The agent received:', message.text]]
    case 'assistant':
      return message.parts.flatMap((part): Line[] => {
        switch (part.type) {
          case 'text':
            return part.text === '' ? [] : [['The agent said:', part.text]]
          case 'call':
          case 'provider-call':
            return [[`The agent called ${part.tool} with`, JSON.stringify(part.input)]]
          case 'provider-result':
            return [[`${part.tool} ${part.failed ? 'failed' : 'returned'}:`, JSON.stringify(part.result)]]
          case 'file':
            return part.thought ? [] : [['The agent made a file:', part.mediaType]]
          // reasoning is partly encrypted, and its results show in the other parts
          case 'reasoning':
          case 'source':
          case 'custom':
            return []
        }
      })
    case 'tool':
      return message.results.map(({ tool, outcome }): Line => [`${tool} ${outcomeVerb(outcome)}`, outcomeText(outcome)])
  }
}

function outcomeVerb(outcome: ToolOutcome): string {
  if ('result' in outcome) return 'returned:'
  if ('error' in outcome) return 'failed:'
  return 'denied' in outcome ? 'was not called, a person denied it:' : 'was called, its result cannot be read:'
}

function outcomeText(outcome: ToolOutcome): string {
  const [value] = Object.values(outcome) as unknown[]
  return typeof value === 'string' ? value : JSON.stringify(value)
}
