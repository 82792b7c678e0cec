// `sharded:` and the URLs of the shards, with commas between them: sharded:postgres://a/runs,postgres://b/runs. A comma
// within one of them is written %2C. Spaces and line ends around them don't count. Their order doesn't matter.
import { RepriseError } from '../../errors.ts'
import { redact } from '../../secrets/redact.ts'

export function isShardedUrl(url: string): boolean {
  return /^sharded:/i.test(url)
}

/** STORE_INVALID when there is none, or one within another. */
export function readShardedUrl(url: string): string[] {
  const parts = url.slice(url.indexOf(':') + 1).split(',')
  const urls = parts.map((part) => part.trim().replaceAll(/%2c/gi, ','))
  const why = urls.includes('') ? 'a URL is empty' : urls.some(isShardedUrl) ? 'one of its URLs is sharded: itself' : ''
  if (why === '') return urls
  const shown = urls.map((each) => redact(each)).join(',')
  throw new RepriseError(
    'STORE_INVALID',
    `"sharded:${shown}" cannot be opened as a store: ${why}. Write sharded:url,url, with %2C for a comma within a URL`,
  )
}

/** The same for every order of the same stores. */
export function writeShardedUrl(urls: readonly string[]): string {
  const escaped = urls.map((url) => url.replaceAll(',', '%2C'))
  return `sharded:${escaped.toSorted().join()}`
}
