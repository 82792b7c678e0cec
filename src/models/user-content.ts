// The content of a user message: its text and its files. Text files become part of the text, which every model accepts.
// Other files are separate parts, and the provider decides whether the model accepts them.
import type { ModelMessage } from 'ai'
import { RepriseError } from '../base/errors.ts'
import type { ChatMessage, StoredFile } from '../journal/entries.ts'
import { fileMark, type Files } from '../journal/files.ts'
import { isTextType } from '../base/media-types.ts'
import { findProvider } from './resolve/providers.ts'

export type UserContent = Extract<ModelMessage, { role: 'user' }>['content']

/** BLOB_MISSING for a file whose bytes are not in `files`. */
export function userContent(text: string, references: readonly StoredFile[], files: Files): UserContent {
  const bytesOf = ({ hash, name }: StoredFile): Uint8Array => {
    const bytes = files.get(hash)
    if (bytes) return bytes
    throw new RepriseError('BLOB_MISSING', `the bytes of the file ${name} (${hash}) did not come with the message`)
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
    if (wrong) throw new Error(`${known.name} only accepts texts and images, and ${wrong.name} is ${wrong.mediaType}`)
  }
}
