// No credential that Reprise handles may be in a journal, a log or an error. Servers do echo keys in their error texts,
// and tools throw errors with the addresses that they used, so every such text passes through here.
import { createRemover } from './forms.ts'
import { knownSecrets } from './known.ts'
import { shapes } from './credential-shapes.ts'

let latest: { readonly secrets: readonly string[]; readonly remove: (text: string) => string } | undefined

/** The text without any known credential, and without anything that looks like one. */
export function redact(text: string): string {
  const secrets = knownSecrets()
  // made again only when they have changed: a key has thousands of pieces
  if (latest?.secrets.length !== secrets.length || !secrets.every((secret, index) => secret === latest?.secrets[index]))
    latest = { secrets, remove: createRemover(secrets) }
  return withoutShapes(latest.remove(text))
}

/** Only by what it looks like. */
function withoutShapes(text: string): string {
  let clean = text
  for (const shape of shapes) clean = clean.replaceAll(shape, (...match) => `${keptPart(match)}[redacted]`)
  return clean
}

function keptPart(match: readonly unknown[]): string {
  const groups = match.at(-1) as { readonly kept?: string } | string
  return typeof groups === 'string' ? '' : (groups.kept ?? '')
}
