// Prints the prompts that were sent to the model, step by step. Each is computed from the journal as it stood at that
// call, since later summaries drop messages. If a conversation only grew, the next step shows only what was added.
import { isDeepStrictEqual } from 'node:util'
import type { ChatMessage, Entry, Failure, ToolDefinition } from '../../journal/entries.ts'
import type { Channel } from './terminal.ts'
import { plural } from '../../text/words.ts'
import { printProviderPart } from './print-parts.ts'
import { printOutcome } from './print-task.ts'
import { printBlock, readable } from './print-block.ts'
import { conversation } from '../../read/conversation.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import type { Json } from '../../journal/json.ts'
import { parentPath, taskInPath } from '../../journal/paths.ts'

/** Returns a function that prints one prompt. Call it for each step of a run, in order. */
export function promptPrinter(channel: Channel): (prompt: SentPrompt) => void {
  const before = new Map<string, SentPrompt>()
  return (prompt) => {
    const attempt = prompt.step.slice(0, prompt.step.lastIndexOf('/'))
    const known = before.get(attempt)
    before.set(attempt, prompt)
    const shown = known && startsWith(prompt.messages, known.messages) ? known.messages.length : 0
    channel.line()
    channel.line(
      { text: `step ${prompt.step}`, format: 'bold' },
      `  ${prompt.model}, ${plural(prompt.messages.length, 'message')}`,
    )
    if (!known) printHead(channel, prompt)
    else if (shown > 0) channel.line({ text: `  as before, and ${prompt.messages.length - shown} more`, format: 'dim' })
    else channel.line({ text: '  the conversation was shortened:', format: 'dim' })
    for (const message of prompt.messages.slice(shown)) printMessage(channel, message)
    if (prompt.error) channel.line({ text: `  failed: ${prompt.error.code}: ${prompt.error.message}`, format: 'red' })
  }
}

function startsWith(messages: readonly ChatMessage[], beginning: readonly ChatMessage[]): boolean {
  return isDeepStrictEqual(messages.slice(0, beginning.length), beginning)
}

function printHead(channel: Channel, { settings, tools, output, system }: SentPrompt): void {
  const head = (text: string): void => channel.line({ text: `  ${text}`, format: 'cyan' })
  if (Object.keys(settings).length > 0) channel.line({ text: '  settings ', format: 'cyan' }, JSON.stringify(settings))
  for (const tool of tools) {
    const { name, description, schema, provider } = tool
    head(provider ? `tool ${name} (${provider.id}, defined by the provider)` : `tool ${name}`)
    printBlock(channel, '  ', provider ? readable(provider.args) : `${description}\n${readable(schema)}`)
  }
  if (output !== undefined) {
    head('schema of the answer')
    printBlock(channel, '  ', readable(output))
  }
  head('system')
  printBlock(channel, '  ', system)
}

function printMessage(channel: Channel, message: ChatMessage): void {
  switch (message.role) {
    case 'user':
      channel.line({ text: '  user', format: 'cyan' })
      printBlock(channel, '  ', message.text)
      for (const { name, mediaType, bytes } of message.files ?? [])
        printBlock(channel, '  ', `file ${name} (${mediaType}, ${plural(bytes, 'byte')})`)
      return
    case 'assistant':
      for (const part of message.parts) {
        if (part.type === 'call') {
          channel.line({ text: '  assistant calls ', format: 'cyan' }, part.tool)
          printBlock(channel, '  ', readable(part.input))
        } else if (part.type === 'text' || part.type === 'reasoning') {
          channel.line({ text: part.type === 'text' ? '  assistant' : '  assistant, thinking', format: 'cyan' })
          printBlock(channel, '  ', part.text)
        } else {
          printProviderPart(channel, part)
        }
      }
      return
    case 'tool':
      for (const { tool, outcome } of message.results) {
        channel.line({ text: '  tool ', format: 'cyan' }, tool)
        printOutcome(channel, '  ', outcome)
      }
  }
}

export interface SentPrompt {
  readonly runId: string
  readonly task: string
  /** The path of the model call. */
  readonly step: string
  readonly model: string
  readonly settings: { readonly [name: string]: Json }
  readonly tools: readonly ToolDefinition[]
  /** The JSON Schema of the answer. */
  readonly output: Json | undefined
  readonly system: string
  readonly messages: readonly ChatMessage[]
  /** The error of a failed call. */
  readonly error: Failure | undefined
}

/** Yields the prompts of one task, or of all. */
export function* promptsSent(runId: string, entries: readonly Entry[], task?: string): Generator<SentPrompt> {
  const state = emptyState()
  for (const entry of entries) {
    if (entry.type === 'model.replied' || entry.type === 'model.failed') {
      const step = entry.path ?? ''
      const attempt = state.attempts.get(parentPath(step))
      // the attempt may have been removed by hand
      if (attempt && (task === undefined || taskInPath(step) === task)) {
        const { model, settings, tools, output, instructions } = attempt.request
        const error = entry.type === 'model.failed' ? entry.error : undefined
        const messages = conversation(state, attempt)
        yield {
          runId,
          task: taskInPath(step),
          step,
          model,
          settings,
          tools,
          output,
          system: instructions,
          messages,
          error,
        }
      }
    }
    applyEntry(state, entry)
  }
}
