// SHA-256 in two forms: over bytes (the chain, stored values) and over canonical JSON (keys, digests).
import { hash } from 'node:crypto'
import { canonicalJson, type Json } from './json.ts'

export function hashBytes(bytes: Uint8Array | string): string {
  return hash('sha256', bytes, 'base64url')
}

/** Equal values have equal digests, whatever the order of their members. 132 bits: enough to compare, not to prove. */
export function digest(value: Json): string {
  return hashBytes(canonicalJson(value)).slice(0, 22)
}
