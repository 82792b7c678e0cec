// Converts what an AI SDK tool returns for models (`toModelOutput`) from the SDK's format to the journal's.
import { defined, describe, isRecord } from '../base/options.ts'
import { RepriseError } from '../base/errors.ts'
import type { SentFile, SentPart, SentResult } from '../journal/entries.ts'
import { throughJson, type Json } from '../journal/json.ts'

/** Throws CREW_INVALID for a format that no version of the AI SDK has. */
export function readModelResult(output: unknown): SentResult {
  if (!isRecord(output)) throw unknownOutput(output)
  const { type, value, reason, providerOptions } = output
  const opaque = readOpaque(providerOptions)
  switch (type) {
    case 'text':
    case 'json':
      return { type: 'value', value: requireJson(value), ...opaque }
    case 'error-text':
    case 'error-json':
      return { type: 'error', value: requireJson(value), ...opaque }
    case 'execution-denied':
      return { type: 'denied', ...(typeof reason === 'string' && { reason }), ...opaque }
    case 'content':
      if (!Array.isArray(value)) throw unknownOutput(output)
      return { type: 'parts', parts: (value as readonly unknown[]).map(readPart) }
    default:
      throw unknownOutput(output)
  }
}

function readPart(part: unknown): SentPart {
  if (!isRecord(part)) throw unknownOutput(part)
  const { type, text, mediaType, data, url, filename, fileId, providerReference, providerOptions } = part
  const opaque = readOpaque(providerOptions)
  if (type === 'text') return { type: 'text', text: String(text), ...opaque }
  if (type === 'custom') return { type: 'custom', ...opaque }
  if (typeof type !== 'string' || !/^(file|image|media)/.test(type)) throw unknownOutput(part)
  const image = type.startsWith('image') ? 'image/*' : 'application/octet-stream'
  const file = {
    type: 'file',
    mediaType: typeof mediaType === 'string' ? mediaType : image,
    ...defined({ name: typeof filename === 'string' ? filename : undefined }),
    ...opaque,
  } as const
  // newer versions of the SDK have one type, `file`, with tagged data; older ones have a type for each kind of data
  if (type === 'file' && isRecord(data)) return { ...file, ...readLocation(data) }
  if (typeof data === 'string') return { ...file, base64: data }
  if (url !== undefined) return { ...file, url: readFileUrl(url) }
  return { ...file, reference: readReference(providerReference ?? fileId, part) }
}

/** Journals accept only absolute URLs: a relative one cannot be resolved later. */
function readFileUrl(url: unknown): string {
  if (URL.canParse(String(url))) return String(url)
  throw new RepriseError('CREW_INVALID', `toModelOutput returned the url ${describe(url)}; return an absolute URL`)
}

function readReference(reference: unknown, part: unknown): { readonly [provider: string]: string } {
  if (!isRecord(reference) || Object.values(reference).some((id) => typeof id !== 'string')) throw unknownOutput(part)
  return reference as { [provider: string]: string }
}

type FileLocation = SentFile extends infer File
  ? File extends SentFile
    ? Omit<File, 'type' | 'mediaType' | 'name' | 'opaque'>
    : never
  : never

function readLocation(tagged: { readonly [name: string]: unknown }): FileLocation {
  const { type, data, url, reference, text } = tagged
  if (type === 'url') return { url: readFileUrl(url) }
  if (type === 'text') return { text: String(text) }
  if (type === 'reference') return { reference: readReference(reference, tagged) }
  if (typeof data === 'string') return { base64: data }
  if (ArrayBuffer.isView(data))
    return { base64: Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString('base64') }
  if (data instanceof ArrayBuffer) return { base64: Buffer.from(data).toString('base64') }
  throw unknownOutput(tagged)
}

function requireJson(value: unknown): Json {
  const json = throughJson(value, 'value')
  if (json.ok) return json.value
  throw new RepriseError(
    'CREW_INVALID',
    `toModelOutput returned ${json.found} at ${json.path}, which is not valid JSON`,
  )
}

function readOpaque(options: unknown): { readonly opaque?: Json } {
  return options === undefined || options === null ? {} : { opaque: requireJson(options) }
}

function unknownOutput(output: unknown): RepriseError {
  const words = `toModelOutput returned ${describe(output)}; return { type: 'text', value } or another output of the AI SDK`
  return new RepriseError('CREW_INVALID', words)
}
