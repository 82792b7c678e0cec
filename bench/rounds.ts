// Timing on a machine that others use too: the two sides of a comparison take turns, so that whatever else goes on slows both, and
// medians are compared, so that a disk that stalls now and then decides nothing.

export interface Comparison {
  readonly rounds: number
  /** How often each side works in its turn. */
  readonly perRound: number
  readonly ours: () => Promise<unknown> | void
  readonly raw: () => Promise<unknown> | void
}

export interface Compared {
  /** Median milliseconds of one time. */
  readonly ours: number
  readonly raw: number
  readonly ratio: number
}

export async function compare({ rounds, perRound, ours, raw }: Comparison): Promise<Compared> {
  const taken = { ours: [] as number[], raw: [] as number[] }
  const turns = [
    { work: ours, times: taken.ours },
    { work: raw, times: taken.raw },
  ]
  for (let round = 0; round <= rounds; round++) {
    // who goes first changes: the second finds the disk as the first left it
    for (const { work, times } of round % 2 === 0 ? turns : turns.toReversed()) {
      for (let time = 0; time < perRound; time++) {
        const start = performance.now()
        await work()
        // the first round warms up
        if (round > 0) times.push(performance.now() - start)
      }
    }
  }
  const result = { ours: median(taken.ours), raw: median(taken.raw) }
  return { ...result, ratio: result.ours / result.raw }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}
