// Maps items concurrently, up to a limit, with results in the order of the items.
import { optional, whole } from '../../base/checks.ts'

const defaultConcurrency = 4

/** `work` must not reject. `stop` is checked before each item; the results of items that didn't start are undefined. */
export async function mapConcurrently<Item, Result>(
  items: readonly Item[],
  limit: number,
  work: (item: Item, index: number) => Promise<Result>,
  stop: () => boolean = () => false,
): Promise<(Result | undefined)[]> {
  const results: (Result | undefined)[] = Array.from({ length: items.length })
  let next = 0
  const worker = async (): Promise<void> => {
    while (next < items.length && !stop()) {
      const index = next++
      results[index] = await work(items[index] as Item, index)
    }
  }
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker))
  return results
}

/** OPTION_INVALID. */
export function readConcurrency(concurrency: unknown): number {
  return optional('concurrency', concurrency, whole(1, 10_000)) ?? defaultConcurrency
}
