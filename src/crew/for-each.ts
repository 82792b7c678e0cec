// A crew kicked off for each of many inputs, some at a time. Every run is a run of its own: one that fails fails no other.
import type { ExecuteOptions, Inputs } from '../engine/definition.ts'
import { checkRunId } from '../engine/run-id.ts'
import { asRepriseError, messageOf, RepriseError } from '../errors.ts'
import type { RunState } from '../journal/state.ts'
import { describe } from '../options.ts'
import type { CrewRuns } from './crew-runs.ts'
import { readInputs } from './inputs.ts'
import { pooled, readConcurrency } from './pool.ts'
import type { RunResult, Tasks } from './result.ts'

/** How one of many runs ended. Those that the signal kept from being started are `pending`. */
export type ForEachResult<T extends Tasks = Tasks> =
  | RunResult<T>
  | (Nothing & { readonly status: 'failed' | 'cancelled'; readonly error: RepriseError })
  | (Nothing & { readonly status: 'pending' })

interface Nothing {
  readonly runId: string | undefined
  readonly raw: ''
  readonly output: undefined
  /** Why there is nothing. */
  toString(): string
}

export interface ForEachRequest {
  readonly list: unknown
  readonly id: unknown
  readonly concurrency: unknown
  readonly reuse: RunState['reuse']
  readonly choices: ExecuteOptions
}

/** INPUT_INVALID, INPUT_MISSING and whatever else is wrong with any of the inputs, before the first run is started. */
export async function kickoffForEach(runs: CrewRuns, request: ForEachRequest): Promise<ForEachResult[]> {
  const { list, reuse, choices } = request
  if (!Array.isArray(list)) {
    throw new RepriseError('INPUT_INVALID', `the inputs are ${describe(list)}; give a list of inputs, one for each run`)
  }
  const concurrency = readConcurrency(request.concurrency)
  const all = (list as readonly unknown[]).map((item, index) =>
    naming(index, () => {
      const inputs = readInputs(item)
      runs.check(inputs)
      return inputs
    }),
  )
  const ids = idsOf(request.id, all)
  const results = await pooled(
    all,
    concurrency,
    async (inputs, index): Promise<ForEachResult> => {
      const id = ids[index]
      try {
        const run = await runs.start({ id, inputs, reuse, choices })
        return await run.result()
      } catch (error) {
        const known = asRepriseError(error)
        const status = known.code === 'RUN_CANCELLED' ? 'cancelled' : 'failed'
        return { ...nothing(known.runId ?? id, known.message), status, error: known }
      }
    },
    () => choices.signal?.aborted ?? false,
  )
  return results.map((result, index) => {
    return result ?? { ...nothing(ids[index], 'This run was not started'), status: 'pending' }
  })
}

function nothing(runId: string | undefined, words: string): Nothing {
  return { runId, raw: '', output: undefined, toString: () => words }
}

/** A text is the beginning of each id: `nightly-1`, `nightly-2`. A function makes them from the inputs. */
function idsOf(id: unknown, all: readonly Inputs[]): (string | undefined)[] {
  if (id === undefined) return []
  const ids = all.map((inputs, index) =>
    naming(index, () =>
      checkRunId(typeof id === 'function' ? made(id, inputs, index) : `${checkRunId(id)}-${index + 1}`),
    ),
  )
  const known = new Map<string, number>()
  for (const [index, one] of ids.entries()) {
    const before = known.get(one)
    if (before !== undefined) {
      const words = `inputs[${before}] and inputs[${index}] both get the run id ${describe(one)}; give each its own`
      throw new RepriseError('OPTION_UNKNOWN', words)
    }
    known.set(one, index)
  }
  return ids
}

function made(id: unknown, inputs: Inputs, index: number): unknown {
  try {
    return (id as (inputs: Inputs, index: number) => unknown)(structuredClone(inputs), index)
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `the function that makes ids threw: ${messageOf(error)}`, {
      cause: error,
    })
  }
}

function naming<T>(index: number, work: () => T): T {
  try {
    return work()
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    throw new RepriseError(error.code, `inputs[${index}]: ${error.message}`, { cause: error })
  }
}
