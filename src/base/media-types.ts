// Detects the media type of a file by its name, or else by its first bytes. Only knows types that models accept.

const byExtension: { readonly [extension: string]: string } = {
  pdf: 'application/pdf',
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  txt: 'text/plain',
  md: 'text/markdown',
  csv: 'text/csv',
  html: 'text/html',
  htm: 'text/html',
  xml: 'application/xml',
  json: 'application/json',
  yaml: 'application/yaml',
  yml: 'application/yaml',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  mp3: 'audio/mpeg',
  wav: 'audio/wav',
  mp4: 'video/mp4',
}

/** `begins`: the bytes at offset `at`, in Latin-1. `within`: the bytes at the start of the file. */
const byBytes: readonly {
  readonly begins: string
  readonly at?: number
  readonly within?: string
  readonly type: string
}[] = [
  { begins: '%PDF-', type: 'application/pdf' },
  { begins: '\x89PNG\r\n\x1a\n', type: 'image/png' },
  { begins: '\xff\xd8\xff', type: 'image/jpeg' },
  { begins: 'GIF87a', type: 'image/gif' },
  { begins: 'GIF89a', type: 'image/gif' },
  { begins: 'WEBP', at: 8, within: 'RIFF', type: 'image/webp' },
  { begins: 'WAVE', at: 8, within: 'RIFF', type: 'audio/wav' },
  { begins: 'ID3', type: 'audio/mpeg' },
  { begins: '\xff\xfb', type: 'audio/mpeg' },
  { begins: 'ftyp', at: 4, type: 'video/mp4' },
]

/** Detects a media type. Undefined for an unknown type. */
export function mediaTypeOf(name: string, bytes: Uint8Array): string | undefined {
  const extension = /\.(\w+)$/.exec(name)?.[1]?.toLowerCase()
  const named = extension === undefined || !Object.hasOwn(byExtension, extension) ? undefined : byExtension[extension]
  if (named !== undefined) return named
  const start = String.fromCharCode(...bytes.subarray(0, 16))
  return byBytes.find(({ begins, at = 0, within = '' }) => start.startsWith(begins, at) && start.startsWith(within))
    ?.type
}

/** Whether files of this type are text, which every model accepts. */
export function isTextType(mediaType: string): boolean {
  return /^(text\/|application\/(json|xml|yaml|x-yaml|x-ndjson|javascript)$|.*\+(json|xml)$)/.test(mediaType)
}
