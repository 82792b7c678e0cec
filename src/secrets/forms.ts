// Removes known credentials from texts, in every form in which servers have been seen to repeat them: verbatim,
// escaped, in base64 or hexadecimal, backwards, in pieces, and masked in the middle.

const replacement = '[redacted]'
/** Shorter values aren't secrets, and replacing them would make texts unreadable. */
const shortest = 4
/** Shorter values may be parts of words: they are only found as whole words, and not in encoded forms. */
const shortestEncoded = 8
/** Shorter pieces of a secret are not found. */
const piece = 12

export function createRemover(secrets: readonly string[]): (text: string) => string {
  const long = [...new Set(secrets)].filter((secret) => secret.length >= shortest)
  // longest first, so that no tail is left of a key that starts with another key
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

/** The secret alone, and inside longer data, where it looks different at each of three offsets. */
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

/** All pieces of the forms, and whether each looks random. */
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

// A piece that doesn't look random (words as in my-development-key, zeros) also occurs in ordinary texts.
function isRandom(gram: string): boolean {
  return new Set(gram).size >= 6 && (/\d/.test(gram) || /[a-z][A-Z]/.test(gram))
}

/** Removes pieces in one pass. Overlapping pieces count as one. */
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

/** Removes masked forms such as `abcd…wxyz` of a key that starts or ends like that. */
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
