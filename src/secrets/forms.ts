// Removes known credentials from texts, in every form in which servers have been seen to repeat them: as they
// are, escaped, in base64 or hexadecimal, backwards, in pieces, and masked in the middle.

const replacement = '[redacted]'
/** A shorter value isn't a secret, and replacing it would only make texts unreadable. */
const shortest = 4
/** Shorter values are looked for only where they stand alone, and not in encoded forms: they may be parts of words. */
const shortestEncoded = 8
/** A piece of a secret that is shorter than this is not found. */
const piece = 12

export function createRemover(secrets: readonly string[]): (text: string) => string {
  const long = [...new Set(secrets)].filter((secret) => secret.length >= shortest)
  // the longest first: a key that begins like another must not leave its tail behind
  const forms = [...new Set(long.flatMap(encodedForms))].toSorted((a, b) => b.length - a.length)
  if (forms.length === 0) return (text) => text
  const grams = secretPieces(forms)
  return (text) => {
    let clean = text
    for (const form of forms)
      clean = clean.replaceAll(form.length < shortestEncoded ? standaloneForm(form) : form, replacement)
    if (grams.size > 0) clean = clean.replaceAll(/\S{12,}/g, (run) => withoutPieces(run, grams))
    return withoutMasked(clean, long)
  }
}

function standaloneForm(form: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(form)}(?![\\p{L}\\p{N}])`, 'gu')
}

function encodedForms(secret: string): string[] {
  const escaped = encodeURIComponent(secret.toWellFormed())
  const plain = [secret, escaped, lowerEscapes(escaped), JSON.stringify(secret).slice(1, -1)]
  if (secret.length < shortestEncoded) return plain
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const percent = hex.replaceAll(/../g, '%$&')
  const backwards = secret.split('').toReversed().join('')
  return [...plain, ...base64Forms(bytes), hex, hex.toUpperCase(), percent, percent.toUpperCase(), backwards]
}

function lowerEscapes(escaped: string): string {
  return escaped.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase())
}

/** Alone, and within something longer, where the same bytes look different at each of three offsets. */
function base64Forms(bytes: Buffer): string[] {
  const within = [0, 1, 2].map((before) => {
    const coded = Buffer.concat([Buffer.alloc(before), bytes])
      .toString('base64')
      .replace(/=+$/, '')
    const whole = Math.floor(((before + bytes.length) * 8) / 6)
    return coded.slice(Math.ceil((before * 8) / 6), whole)
  })
  const all = [bytes.toString('base64'), bytes.toString('base64').replace(/=+$/, ''), ...within]
  return [...all, ...all.map((coded) => coded.replaceAll('+', '-').replaceAll('/', '_'))]
}

/** Every piece of the forms, and whether it is one that no ordinary text contains. */
function secretPieces(forms: readonly string[]): ReadonlyMap<string, boolean> {
  const grams = new Map<string, boolean>()
  for (const form of forms) {
    for (let at = 0; at + piece <= form.length; at++) {
      const gram = form.slice(at, at + piece)
      grams.set(gram, isRandom(gram))
    }
  }
  return grams
}

// A key may have words in it (my-development-key), and those occur in other texts too; so do zeros.
function isRandom(gram: string): boolean {
  return new Set(gram).size >= 6 && (/\d/.test(gram) || /[a-z][A-Z]/.test(gram))
}

/** In one pass; pieces that overlap count as one. */
function withoutPieces(run: string, grams: ReadonlyMap<string, boolean>): string {
  let clean = ''
  let done = 0
  for (let at = 0; at + piece <= run.length; at++) {
    const start = at
    let random: boolean | undefined = false
    for (
      let next = grams.get(run.slice(at, at + piece));
      next !== undefined;
      next = grams.get(run.slice(at, at + piece))
    ) {
      random ||= next
      at++
    }
    if (!random) continue
    const end = at - 1 + piece
    clean += run.slice(done, start) + replacement
    done = end
    at = end - 1
  }
  return clean + run.slice(done)
}

const masks = /\*{2,}|•{2,}|…|\.{3,}/g

/** `abcd…wxyz` for a key that begins or ends like that. */
function withoutMasked(text: string, secrets: readonly string[]): string {
  let clean = ''
  let done = 0
  for (const { 0: mask, index } of text.matchAll(masks)) {
    const before = /[\w+/~-]+$/.exec(text.slice(Math.max(done, index - 60), index))?.[0] ?? ''
    const after = /^[\w+/~-]+/.exec(text.slice(index + mask.length, index + mask.length + 60))?.[0] ?? ''
    const shown = secrets.some(
      (secret) =>
        (before.length >= shortest && secret.startsWith(before)) ||
        (after.length >= shortest && secret.endsWith(after)),
    )
    if (!shown) continue
    clean += text.slice(done, index - before.length) + replacement
    done = index + mask.length + after.length
  }
  return clean + text.slice(done)
}
