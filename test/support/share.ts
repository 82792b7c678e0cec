import { createHash } from 'node:crypto'

/** In which of so many equal shares a test falls, by its title: the same in every run, on every machine. */
export function shareOf(title: string, shares: number): number {
  return createHash('sha256').update(title).digest().readUInt32BE() % shares
}
