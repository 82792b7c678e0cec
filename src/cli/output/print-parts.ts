// Prints the parts of a reply that the model's provider added: its own tool calls, sources and files.
import type { GeneratedFile, ReplyPart, SentPart, SentResult, Source } from '../../journal/entries.ts'
import { clip } from '../../text/clip.ts'
import type { Channel } from './terminal.ts'
import { plural } from '../../text/words.ts'
import { printBlock, readable } from './print-block.ts'

/** Longer values, such as images in base64, are cut. */
const maxLength = 2000

/** Prints nothing for parts that the provider didn't add. */
export function printProviderPart(channel: Channel, part: ReplyPart): void {
  switch (part.type) {
    case 'provider-call':
      channel.line({ text: '  provider called ', format: 'cyan' }, part.tool)
      printBlock(channel, '    ', clip(readable(part.input), maxLength))
      return
    case 'provider-result':
      channel.line({
        text: `  ${part.tool} ${part.failed ? 'failed' : 'returned'}`,
        format: part.failed ? 'red' : 'dim',
      })
      printBlock(channel, '    ', clip(readable(part.result), maxLength))
      return
    case 'source':
      channel.line({ text: '  source ', format: 'cyan' }, sourceWords(part))
      return
    case 'file':
      channel.line({ text: '  file ', format: 'cyan' }, generatedFileWords(part))
      return
    default:
  }
}

/** `Flood maps (https://flood.example/maps)` */
export function sourceWords({ id, title, url, filename }: Source): string {
  const place = url ?? filename
  return [title, place && (title ? `(${place})` : place)].filter(Boolean).join(' ') || id
}

export function generatedFileWords(file: GeneratedFile): string {
  const where = 'base64' in file ? plural(Buffer.byteLength(file.base64, 'base64'), 'byte') : file.url
  return `${file.mediaType}, ${where}`
}

/** Describes what the model received in place of the tool's own result. Files are named by type, and size or URL. */
export function sentWords(sent: SentResult): string {
  if (sent.type === 'parts') return sent.parts.map(partWords).join('\n')
  return sent.type === 'denied' ? `denied: ${sent.reason ?? ''}` : readable(sent.value)
}

function partWords(part: SentPart): string {
  if (part.type === 'text') return part.text
  if (part.type === 'custom') return 'data that only the provider can read'
  if ('base64' in part) return `${part.mediaType}, ${plural(Buffer.byteLength(part.base64, 'base64'), 'byte')}`
  return 'url' in part ? `${part.mediaType}, ${part.url}` : part.mediaType
}
