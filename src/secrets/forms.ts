// Removes known credentials from text, in every form in which servers have been seen to echo them: verbatim, escaped,
// in base64 or hexadecimal, backwards, in pieces, and masked in the middle.

const replacement = '[redacted]'
/** Shorter values aren't secrets, and replacing them would make text unreadable. */
const minLength = 4
/** Shorter values may be parts of words, so they are only found as whole words, and not encoded. */
const minEncodedLength = 8
/** The length of the pieces by which a secret is found. */
const pieceLength = 12

export function createRemover(secrets: readonly string[]): (text: string) => string {
  const long = [...new Set(secrets)].filter((secret) => secret.length >= minLength)
  // longest first, so that nothing remains of a key that starts with another key
  const forms = [...new Set(long.flatMap(encodedForms))].toSorted((a, b) => b.length - a.length)
  if (forms.length === 0) return (text) => text
  const pieces = secretPieces(forms)
  return (text) => {
    let clean = text
    for (const form of forms)
      clean = clean.replaceAll(form.length < minEncodedLength ? standaloneForm(form) : form, replacement)
    if (pieces.size > 0) clean = clean.replaceAll(/\S{12,}/g, (stretch) => withoutPieces(stretch, pieces))
    return withoutMasked(clean, long)
  }
}

function standaloneForm(form: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}])${RegExp.escape(form)}(?![\\p{L}\\p{N}])`, 'gu')
}

function encodedForms(secret: string): string[] {
  const escaped = encodeURIComponent(secret.toWellFormed())
  const plain = [secret, escaped, lowerEscapes(escaped), JSON.stringify(secret).slice(1, -1)]
  if (secret.length < minEncodedLength) return plain
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  const percent = hex.replaceAll(/../g, '%$&')
  const backwards = secret.split('').toReversed().join('')
  return [...plain, ...base64Forms(bytes), hex, hex.toUpperCase(), percent, percent.toUpperCase(), backwards]
}

function lowerEscapes(escaped: string): string {
  return escaped.replaceAll(/%[\dA-F]{2}/g, (code) => code.toLowerCase())
}

/** Base64 of the secret alone, and within longer data, where it differs at each of three offsets. */
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
  const pieces = new Map<string, boolean>()
  for (const form of forms) {
    for (let at = 0; at + pieceLength <= form.length; at++) {
      const piece = form.slice(at, at + pieceLength)
      pieces.set(piece, isRandom(piece))
    }
  }
  return pieces
}

/** A piece that doesn't look random, such as words or zeros, also occurs in ordinary text. */
function isRandom(piece: string): boolean {
  return new Set(piece).size >= 6 && (/\d/.test(piece) || /[a-z][A-Z]/.test(piece))
}

/** Removes pieces of secrets in one pass. Overlapping pieces count as one, and stay if none of them looks random. */
function withoutPieces(stretch: string, pieces: ReadonlyMap<string, boolean>): string {
  let clean = ''
  let done = 0
  for (let at = 0; at + pieceLength <= stretch.length; at++) {
    const start = at
    let random: boolean | undefined = false
    for (
      let next = pieces.get(stretch.slice(at, at + pieceLength));
      next !== undefined;
      next = pieces.get(stretch.slice(at, at + pieceLength))
    ) {
      random ||= next
      at++
    }
    if (!random) continue
    const end = at - 1 + pieceLength
    clean += stretch.slice(done, start) + replacement
    done = end
    at = end - 1
  }
  return clean + stretch.slice(done)
}

const masks = /\*{2,}|•{2,}|…|\.{3,}/g

/** Removes masked forms, such as `abcd…wxyz`, of keys that start or end like that. */
function withoutMasked(text: string, secrets: readonly string[]): string {
  let clean = ''
  let done = 0
  for (const { 0: mask, index } of text.matchAll(masks)) {
    const before = /[\w+/~-]+$/.exec(text.slice(Math.max(done, index - 60), index))?.[0] ?? ''
    const after = /^[\w+/~-]+/.exec(text.slice(index + mask.length, index + mask.length + 60))?.[0] ?? ''
    const shown = secrets.some(
      (secret) =>
        (before.length >= minLength && secret.startsWith(before)) ||
        (after.length >= minLength && secret.endsWith(after)),
    )
    if (!shown) continue
    clean += text.slice(done, index - before.length) + replacement
    done = index + mask.length + after.length
  }
  return clean + text.slice(done)
}
