// Random choices that a seed reproduces, and deterministic choices by the hash of a value.
import { createHash } from 'node:crypto'

export interface Random {
  /** An integer from 0 to below the limit. */
  below(limit: number): number
  chance(share: number): boolean
  pick<T>(from: readonly T[]): T
  /** A random subset. */
  some<T>(from: readonly T[], share?: number): T[]
}

/** Mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
  const random: Random = {
    below: (limit) => Math.floor(next() * limit),
    chance: (share) => next() < share,
    pick: (from) => from[random.below(from.length)] as never,
    some: (from, share = 0.5) => from.filter(() => random.chance(share)),
  }
  return random
}

export function hashOf(value: unknown): string {
  return createHash('sha256')
    .update(typeof value === 'string' ? value : JSON.stringify(value))
    .digest('hex')
    .slice(0, 12)
}

/** An integer below `of`, from the hash of the value: the same in every process. */
export function choiceOf(value: unknown, of: number): number {
  return Number.parseInt(hashOf(value), 16) % of
}
