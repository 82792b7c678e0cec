// No credential that Reprise handles may be in a journal, a log or an error. Servers do echo keys in their error texts, so
// every text that comes from the model layer passes through here.
import { secrets } from '../environment.ts'

const replacement = '[redacted]'

// Key shapes, for keys that were given in code and so are not in the environment. The `*` is there because servers mask a key
// only in part: `sk-proj-ab****9f3c`.
const shapes = [
  /\b(Bearer|Basic)\s+[\w.~+/*=-]{6,}/gi,
  /\bsk-[\w*-]{6,}/g,
  /\bAIza[\w*-]{10,}/g,
  /\b((?:x-)?api[-_]key["']?\s*[:=]\s*["']?)[\w.*-]{6,}/gi,
]

/** The text without any known key of the environment, and without anything that looks like a key. */
export function redact(text: string): string {
  let clean = text
  // The longest first: a key that begins like another must not leave its tail behind. Below four characters a value is no
  // secret, and replacing it would only make the text unreadable.
  const known = secrets()
    .filter((secret) => secret.length >= 4)
    .toSorted((a, b) => b.length - a.length)
  for (const secret of known) {
    for (const form of new Set([secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)])) {
      clean = clean.replaceAll(form, replacement)
    }
  }
  for (const shape of shapes) {
    clean = clean.replace(shape, (_match, kept: unknown) =>
      typeof kept === 'string' ? `${kept}${/[:=]/.test(kept) ? '' : ' '}${replacement}` : replacement,
    )
  }
  // a password in an address, as in http://user:password@host
  return clean.replaceAll(/:\/\/[^\s/@]+:[^\s/@]*@/g, `://${replacement}@`)
}
