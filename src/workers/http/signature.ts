// Signatures of calls: an HMAC over time, id and body with a shared secret. Runs cannot be advanced without the secret,
// and an intercepted call expires.
import type { webcrypto } from 'node:crypto'
import { RepriseError } from '../../base/errors.ts'
import { check, type Check } from '../../base/options.ts'

export const signatureHeader = 'reprise-signature'

export const secretCheck: Check<string> = check(
  'a string of at least 16 characters, such as the output of `openssl rand -hex 32`',
  (value) => typeof value === 'string' && value.trim().length >= 16,
)

export interface SignedCall {
  /** Unique id of the call. */
  readonly id: string
  /** In ms since 1970. */
  readonly at: number
}

/** Returns the value of the signature header. */
export async function sign(secret: string, body: string, { id, at }: SignedCall): Promise<string> {
  const mac = await crypto.subtle.sign('HMAC', await importKey(secret, 'sign'), encodeText(`${at}.${id}.${body}`))
  return `t=${at},id=${id},v1=${Buffer.from(mac).toString('hex')}`
}

/** Accepts a signature by any of the secrets, so that secrets can be rotated. Rejects with CALL_REFUSED. */
export async function checkSignature(
  secrets: readonly string[],
  body: string,
  header: string | null,
  { now, maxAgeMs }: { readonly now: number; readonly maxAgeMs: number },
): Promise<SignedCall> {
  const [, time, id, mac] = /^t=(\d{1,15}),id=([\w-]{1,100}),v1=([0-9a-f]{64})$/.exec(header ?? '') ?? []
  if (time === undefined || id === undefined || mac === undefined) {
    const words = `the call has no header ${signatureHeader} of the form t=…,id=…,v1=…; sign it with the secret of the handler, as httpDispatcher does`
    throw new RepriseError('CALL_REFUSED', words)
  }
  const at = Number(time)
  const given = Buffer.from(mac, 'hex')
  const signed = encodeText(`${at}.${id}.${body}`)
  const checks = secrets.map(async (secret) =>
    crypto.subtle.verify('HMAC', await importKey(secret, 'verify'), given, signed),
  )
  if (!(await Promise.all(checks)).includes(true)) {
    const words = 'the call is signed with another secret, or was changed in transit; use the same secret on both sides'
    throw new RepriseError('CALL_REFUSED', words)
  }
  const ageMs = Math.abs(now - at)
  if (ageMs > maxAgeMs) {
    const seconds = Math.round(ageMs / 1_000)
    const off = at > now ? `is dated ${seconds} seconds in the future` : `was signed ${seconds} seconds ago`
    const words = `by the clock here, the call ${off} (at most ${maxAgeMs / 1_000} are allowed); sign it when you send it, set the clocks, or raise maxAgeSeconds of the handler`
    throw new RepriseError('CALL_REFUSED', words)
  }
  return { id, at }
}

function importKey(secret: string, usage: 'sign' | 'verify'): Promise<webcrypto.CryptoKey> {
  return crypto.subtle.importKey('raw', encodeText(secret), { name: 'HMAC', hash: 'SHA-256' }, false, [usage])
}

function encodeText(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text)
}
