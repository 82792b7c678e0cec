// Keeps credentials out of journals, logs and errors. Servers echo keys in their error messages, and tools throw errors
// with the URLs that they used, so all such text passes through `redact`.
import { createRemover } from './forms.ts'
import { knownSecrets } from './known.ts'
import { shapes } from './credential-shapes.ts'

let latest: { readonly secrets: readonly string[]; readonly remove: (text: string) => string } | undefined

/** Removes known credentials from text, and everything else that looks like a credential. */
export function redact(text: string): string {
  const secrets = knownSecrets()
  // cached until the secrets change, since they have thousands of pieces
  if (latest?.secrets.length !== secrets.length || !secrets.every((secret, index) => secret === latest?.secrets[index]))
    latest = { secrets, remove: createRemover(secrets) }
  return withoutShapes(latest.remove(text))
}

/** Removes everything that looks like a credential. */
function withoutShapes(text: string): string {
  let clean = text
  for (const shape of shapes) clean = clean.replaceAll(shape, (...match) => `${keptPart(match)}[redacted]`)
  return clean
}

function keptPart(match: readonly unknown[]): string {
  const groups = match.at(-1) as { readonly kept?: string } | string
  return typeof groups === 'string' ? '' : (groups.kept ?? '')
}
