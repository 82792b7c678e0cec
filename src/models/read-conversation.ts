// The request to a model as plain text: instructions, messages, calls and results in order. Without ids and options, so
// that it is the same in every process and for every provider.
import type { LanguageModelV4 } from './resolve/resolve-model.ts'

export interface Conversation {
  readonly asked: { readonly conversation: string; readonly instructions: string; readonly lastMessage: string }
  /** How many tool results there are. */
  readonly results: number
  /** The model's calls, as `tool({"its":"input"})`. */
  readonly made: readonly string[]
}

type Prompt = Parameters<LanguageModelV4['doGenerate']>[0]['prompt']
type Part = Exclude<Prompt[number]['content'], string>[number]
type Result = Extract<Part, { type: 'tool-result' }>

export function readConversation(prompt: Prompt): Conversation {
  const texts = prompt.map((message) => ({
    role: message.role,
    text:
      typeof message.content === 'string' ? message.content : message.content.map(partText).filter(Boolean).join('\n'),
  }))
  const parts = prompt.flatMap((message): readonly Part[] =>
    typeof message.content === 'string' ? [] : message.content,
  )
  return {
    asked: {
      conversation: texts.map(({ text }) => text).join('\n\n'),
      instructions: texts
        .filter(({ role }) => role === 'system')
        .map(({ text }) => text)
        .join('\n\n'),
      lastMessage: texts.at(-1)?.text ?? '',
    },
    results: parts.filter((part) => part.type === 'tool-result').length,
    made: parts.filter((part) => part.type === 'tool-call').map(partText),
  }
}

function partText(part: Part): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
      return part.text
    case 'file':
      return `<file ${part.filename ?? ''} ${part.mediaType}>`
    case 'tool-call':
      return `${part.toolName}(${JSON.stringify(part.input)})`
    case 'tool-result': {
      const { output } = part
      if (output.type === 'execution-denied') return output.reason ?? 'denied'
      if (output.type === 'content') return output.value.map(contentText).join('\n')
      return typeof output.value === 'string' ? output.value : JSON.stringify(output.value)
    }
    default:
      return ''
  }
}

function contentText(part: Extract<Result['output'], { type: 'content' }>['value'][number]): string {
  if (part.type === 'text') return part.text
  return part.type === 'file' ? `<file ${part.filename ?? ''} ${part.mediaType}>` : ''
}
