// Timing on a shared machine: the sides of a comparison take turns, so that other load slows all of them, and medians
// are compared, so that an occasional stall of the disk doesn't matter.

export interface Comparison {
  readonly rounds: number
  /** How often a side is repeated in its turn. */
  readonly perRound: number
  readonly ours: () => Promise<unknown> | void
  readonly raw: () => Promise<unknown> | void
}

export interface Compared {
  /** Median milliseconds of one repetition. */
  readonly ours: number
  readonly raw: number
  readonly ratio: number
}

export async function compare({ rounds, perRound, ours, raw }: Comparison): Promise<Compared> {
  const turnOf = (work: Comparison['ours']) => async (): Promise<number[]> => {
    const times: number[] = []
    for (let time = 0; time < perRound; time++) {
      const start = performance.now()
      await work()
      times.push(performance.now() - start)
    }
    return times
  }
  const taken = await takeTurns(rounds, { ours: turnOf(ours), raw: turnOf(raw) })
  const result = { ours: median(taken.ours), raw: median(taken.raw) }
  return { ...result, ratio: result.ours / result.raw }
}

/** The milliseconds that each side measured, in the order of rounds. The first few rounds warm up and don't count. */
export async function takeTurns<Name extends string>(
  rounds: number,
  sides: { readonly [Side in Name]: () => Promise<readonly number[]> },
  warming = 1,
): Promise<{ [Side in Name]: number[] }> {
  const names = Object.keys(sides) as Name[]
  const taken = Object.fromEntries(names.map((name) => [name, [] as number[]])) as { [Side in Name]: number[] }
  for (let round = 0; round < warming + rounds; round++) {
    // the order rotates, since each side finds the disk as the one before has left it
    const first = round % names.length
    for (const name of [...names.slice(first), ...names.slice(0, first)]) {
      const times = await sides[name]()
      if (round >= warming) taken[name].push(...times)
    }
  }
  return taken
}

/**
 * The ratio of two sides that were measured once in each round, and the range in which the ratios of the middle half of
 * the rounds lie.
 */
export function ratioOf(ours: readonly number[], raw: readonly number[]): { ratio: number; spread: string } {
  const each = ours.map((time, round) => time / (raw[round] ?? Number.NaN)).toSorted((a, b) => a - b)
  const last = each.length - 1
  const [low = Number.NaN, high = Number.NaN] = [each[Math.floor(last / 4)], each[Math.ceil((last * 3) / 4)]]
  return { ratio: median(ours) / median(raw), spread: `by rounds ${low.toFixed(2)} to ${high.toFixed(2)}` }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2
}
