import { createHash } from 'node:crypto'

/** Assigns a test to one of `shares` equal shares by the hash of its title, so that the share never changes. */
export function shareOf(title: string, shares: number): number {
  return createHash('sha256').update(title).digest().readUInt32BE() % shares
}
