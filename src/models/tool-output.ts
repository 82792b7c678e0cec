// Converts outcomes of tool calls and files of user messages for the model. Images in a tool result are sent inside it
// if the provider's protocol allows that, or else in a user message after it: in the chat protocol, tool messages are
// text.
import type { ModelMessage } from 'ai'
import { defined } from '../base/options.ts'
import type { ChatMessage, SentFile, SentPart, SentResult, ToolOutcome, StoredFile } from '../journal/entries.ts'
import type { Json } from '../journal/json.ts'
import { RepriseError } from '../base/errors.ts'
import { fileMark, type Files } from '../journal/files.ts'
import { isTextType } from '../base/media-types.ts'
import { findProvider } from './resolve/providers.ts'

type ToolMessage = Extract<ModelMessage, { role: 'tool' }>
type Output = Extract<ToolMessage['content'][number], { type: 'tool-result' }>['output']
type OutputPart = Extract<Output, { type: 'content' }>['value'][number]
type OutputFile = Extract<OutputPart, { type: 'file' }>
type ProviderOptions = NonNullable<ModelMessage['providerOptions']>
type JsonValue = Extract<Output, { type: 'json' }>['value']

/** How images in tool results are sent. `none`: replaced by a description, for models that don't accept images. */
export type Images = 'inside' | 'apart' | 'none'

/** Decides by the API at the end of the provider's name. Vertex also names its own API `chat`. */
export function imagesFor(provider: string): Images {
  return /(^|\.)chat$/.test(provider) && !provider.includes('vertex') ? 'apart' : 'inside'
}

/** Whether a tool result contains an image. */
export function showsImages(messages: readonly ChatMessage[]): boolean {
  return messages.some(({ role, ...message }) => role === 'tool' && resultImages(message as Results).length > 0)
}

export function toOutput(outcome: ToolOutcome, images: Images): Output {
  // many providers have no flag for failed or denied calls, so the text must say it
  if ('error' in outcome) return { type: 'error-text', value: `Error: ${outcome.error || 'the tool gave no reason'}` }
  if ('denied' in outcome) {
    return { type: 'execution-denied', reason: `The call was denied by a person and not made: ${outcome.denied}` }
  }
  if (outcome.sent) return sentOutput(outcome.sent, images)
  if ('unreadable' in outcome) {
    const value = `The call was made, but its result could not be read: it contains a value that is not JSON (${outcome.unreadable}).`
    return { type: 'text', value }
  }
  return valueOutput(outcome.result)
}

function valueOutput(value: Json, options: Options = {}): Output {
  if (typeof value === 'string' && value !== '') return { type: 'text', value, ...options }
  return { type: 'json', value: value as JsonValue, ...options }
}

function sentOutput(sent: SentResult, images: Images): Output {
  switch (sent.type) {
    case 'value':
      return valueOutput(sent.value, outputOptions(sent.opaque))
    case 'error':
      return typeof sent.value === 'string'
        ? { type: 'error-text', value: sent.value, ...outputOptions(sent.opaque) }
        : { type: 'error-json', value: sent.value as JsonValue, ...outputOptions(sent.opaque) }
    case 'denied':
      return { type: 'execution-denied', ...defined({ reason: sent.reason }), ...outputOptions(sent.opaque) }
    case 'parts':
      // in a protocol that only has text, the provider's package would send the list of parts as JSON
      if (images === 'apart')
        return { type: 'text', value: sent.parts.map((part) => describePart(part, true)).join('\n') }
      return { type: 'content', value: sent.parts.map((part) => toPart(part, images)) }
  }
}

function toPart(part: SentPart, images: Images): OutputPart {
  const options = outputOptions(part.opaque)
  if (part.type === 'custom') return { type: 'custom', ...options }
  if (part.type === 'text' || (images === 'none' && isImage(part))) {
    return { type: 'text', text: describePart(part, false), ...options }
  }
  const { mediaType, name: filename } = part
  return { type: 'file', mediaType, data: fileData(part), ...defined({ filename }), ...options }
}

function fileData(file: SentFile): OutputFile['data'] {
  if ('base64' in file) return { type: 'data', data: file.base64 }
  if ('url' in file) return { type: 'url', url: new URL(file.url) }
  return 'text' in file ? { type: 'text', text: file.text } : { type: 'reference', reference: file.reference }
}

function describePart(part: SentPart, imageFollows: boolean): string {
  if (part.type === 'custom') return ''
  if (part.type === 'text') return part.text
  if ('text' in part) return part.text
  const size = 'base64' in part ? `, ${Buffer.byteLength(part.base64, 'base64')} bytes` : ''
  return `(${part.mediaType}${size}, ${imageFollows && isImage(part) ? 'shown below' : 'left out'})`
}

type Results = Pick<Extract<ChatMessage, { role: 'tool' }>, 'results'>
type ImageFile = SentFile & ({ readonly base64: string } | { readonly url: string })

/** The content of the user message after the results: the images of each result, after the name of its tool. */
export function imagesIn(results: Results['results']): Exclude<UserContent, string> {
  return results.flatMap((result): Exclude<UserContent, string> => {
    const images = resultImages({ results: [result] })
    if (images.length === 0) return []
    const files = images.map((file) => ({
      type: 'file' as const,
      mediaType: file.mediaType,
      data: 'base64' in file ? file.base64 : new URL(file.url),
    }))
    return [{ type: 'text', text: `What ${result.tool} returned:` }, ...files]
  })
}

function resultImages({ results }: Results): ImageFile[] {
  return results.flatMap(({ outcome }) => {
    const sent = 'sent' in outcome ? outcome.sent : undefined
    return sent?.type === 'parts' ? sent.parts.filter(isImage) : []
  })
}

function isImage(part: SentPart): part is ImageFile {
  return part.type === 'file' && part.mediaType.startsWith('image') && ('base64' in part || 'url' in part)
}

type Options = { providerOptions?: ProviderOptions }

function outputOptions(opaque: Json | undefined): Options {
  return defined({ providerOptions: opaque as ProviderOptions | undefined })
}

export type UserContent = Extract<ModelMessage, { role: 'user' }>['content']

/**
 * The content of a user message with files. Text files become part of the text, which every model accepts. Other files
 * are separate parts, and the provider decides whether the model accepts them. Throws BLOB_MISSING for a file whose
 * bytes are not in `files`.
 */
export function userContent(text: string, references: readonly StoredFile[], files: Files): UserContent {
  const bytesOf = ({ hash, name }: StoredFile): Uint8Array => {
    const bytes = files.get(hash)
    if (bytes) return bytes
    throw new RepriseError('BLOB_MISSING', `the bytes of the file ${name} (${hash}) are missing`)
  }
  const texts = references
    .filter(({ mediaType }) => isTextType(mediaType))
    .map((file) => `--- ${fileMark(file)} ---\n${new TextDecoder().decode(bytesOf(file))}`)
  const parts = references
    .filter(({ mediaType }) => !isTextType(mediaType))
    .map((file) => ({
      type: 'file' as const,
      mediaType: file.mediaType,
      filename: file.name,
      data: bytesOf(file),
    }))
  const whole = [text, ...texts].join('\n\n')
  return parts.length === 0 ? whole : [{ type: 'text', text: whole }, ...parts]
}

/** Throws, before anything is sent, for a file that the provider's package would drop or garble. */
export function refuseFiles(provider: string, messages: readonly ChatMessage[]): void {
  const known = findProvider(provider.split('.', 1)[0]!)
  if (!known?.picturesOnly) return
  for (const message of messages) {
    const files = message.role === 'user' ? (message.files ?? []) : []
    const wrong = files.find(({ mediaType }) => !isTextType(mediaType) && !mediaType.startsWith('image/'))
    if (wrong)
      throw new Error(`${known.name} only accepts text files and images, but ${wrong.name} is ${wrong.mediaType}`)
  }
}
