// kickoffForEach: one run for each of many inputs, several at a time. A failed run doesn't affect the others.
import type { CrewDefinition, ExecuteOptions, Inputs } from '../../engine/definition.ts'
import { functionCall } from '../../engine/task/function-call.ts'
import { checkNewRunId } from '../../read/row-summary.ts'
import { asRepriseError, messageOf, RepriseError, reworded } from '../../base/errors.ts'
import { noFiles, plainInputs } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { checkKeys, describe } from '../../base/options.ts'
import { redact } from '../../secrets/redact.ts'
import type { StartedRun } from '../started-run.ts'
import type { OpenCrew } from '../open-crew.ts'
import { readRawInputs, type RawInputs } from '../arguments/run-inputs.ts'
import {
  readChoices,
  readReuse,
  executeKeys,
  mapConcurrently,
  readConcurrency,
  type ExecuteChoices,
  type Reuse,
} from './shared-options.ts'
import { checkKickoff, kickoff } from './kickoff.ts'
import type { RunResult, Tasks, TaskReference } from '../result/result.ts'
import { startRun } from '../run.ts'
import type { Task } from '../task.ts'
import type { Json } from '../../journal/json.ts'

export interface ForEachOptions<Reference = TaskReference> extends ExecuteChoices<Reference> {
  /**
   * Prefix of the run ids (`nightly` results in `nightly-1`, `nightly-2`), or a function that returns each id. See `id`
   * of kickoff. Default: new ids.
   */
  readonly id?: string | ((inputs: { readonly [name: string]: Json }, index: number) => string)
  /** How many runs execute at once. Default: 4. */
  readonly concurrency?: number
  /** Reuse outputs of earlier runs with the same inputs. Default: false. */
  readonly reuse?: Reuse
}

/** Result of one run. `pending`: the signal aborted before it started. */
export type ForEachResult<T extends Tasks = readonly Task[]> =
  | RunResult<T>
  | (NoResult & { readonly status: 'failed' | 'cancelled'; readonly error: RepriseError })
  | (NoResult & { readonly status: 'pending' })

interface NoResult {
  readonly runId: string | undefined
  readonly raw: ''
  readonly output: undefined
  /** The reason why there is no result. */
  toString(): string
}

interface ForEachRequest {
  readonly list: unknown
  readonly id: unknown
  readonly concurrency: unknown
  readonly reuse: RunState['reuse']
  readonly choices: ExecuteOptions
  readonly watch?: ForEachWatch | undefined
}

/** Inputs are checked later, one by one. OPTION_INVALID, OPTION_UNKNOWN, TASK_NOT_FOUND. */
export function readForEach(
  crew: CrewDefinition,
  list: unknown,
  options: ForEachOptions,
  watch?: ForEachWatch,
): ForEachRequest {
  checkKeys('kickoffForEach', options, ['id', 'concurrency', 'reuse', ...executeKeys])
  const { id, concurrency } = options
  return { list, id, concurrency, reuse: readReuse(options.reuse), choices: readChoices(crew, options), watch }
}

/** For the command line, which reads the inputs from the lines of a file and prints each run when it has ended. */
export interface ForEachWatch {
  /** Name of the inputs in errors: `line 3 of claims.jsonl`. */
  nameOf(index: number): string
  /** Must not reject. Not called for runs that never started. */
  ended(index: number, result: ForEachResult): void | Promise<void>
}

/**
 * All inputs are checked before the first run starts: INPUT_INVALID, INPUT_MISSING and other errors of a kickoff.
 * Within a function task, the promise stays pending if one of the runs waits.
 */
export async function kickoffForEach(open: OpenCrew, request: ForEachRequest): Promise<ForEachResult[]> {
  const leave = functionCall()?.enter()
  try {
    const results = await kickoffAll(open, request)
    if (results) return results
  } finally {
    leave?.()
  }
  return new Promise(() => {})
}

async function kickoffAll(open: OpenCrew, request: ForEachRequest): Promise<ForEachResult[] | undefined> {
  const { list, reuse, choices, watch } = request
  const { logger } = open.definition
  const nameOf = watch?.nameOf ?? ((index: number) => `inputs[${index}]`)
  const naming = <T>(index: number, work: () => T | Promise<T>): Promise<T> => withItemName(nameOf(index), work)
  if (!Array.isArray(list)) {
    throw new RepriseError('INPUT_INVALID', `the inputs are ${describe(list)}; give a list of inputs, one for each run`)
  }
  const concurrency = readConcurrency(request.concurrency)
  const all: ItemInputs[] = []
  for (const [index, item] of (list as readonly unknown[]).entries())
    all.push(await naming(index, () => readItem(item)))
  const ids = await runIds(
    request.id,
    all.map(({ inputs }) => inputs),
    nameOf,
  )
  for (const [index, given] of all.entries()) await naming(index, () => checkKickoff(open, given, ids[index]))
  // within a function task, a waiting run has no result, and the next run takes its slot
  let waits = false
  const runOne = async (read: ItemInputs, index: number): Promise<ForEachResult | undefined> => {
    const id = ids[index]
    try {
      const inputs = read.again ? await readRawInputs((list as readonly unknown[])[index]) : read
      const waiting = Promise.withResolvers<undefined>()
      const begin = async (): Promise<StartedRun> => {
        const started = await kickoff(open, { id, inputs, reuse, choices })
        void started.waits?.then(() => waiting.resolve(undefined))
        return started
      }
      const result = await Promise.race([startRun(open, begin), waiting.promise])
      waits ||= result === undefined
      return result
    } catch (error) {
      const known = asRepriseError(error)
      const status = known.code === 'RUN_CANCELLED' ? 'cancelled' : 'failed'
      return { ...noResult(known.runId ?? id, known.message), status, error: known }
    }
  }
  let ended = 0
  const results = await mapConcurrently(
    all,
    concurrency,
    async (read, index) => {
      const result = await runOne(read, index)
      if (!result) return undefined
      ended++
      if (watch) await watch.ended(index, result)
      else logger.info(`[${result.runId}] ${result.status}: ${ended} of ${all.length} runs have ended`)
      return result
    },
    () => choices.signal?.aborted ?? false,
  )
  if (waits) return undefined
  return results.map((result, index) => {
    return result ?? { ...noResult(ids[index], 'This run was not started'), status: 'pending' }
  })
}

interface ItemInputs extends RawInputs {
  /** Files are read again when the run starts. */
  readonly again: boolean
}

/** Drops file contents: those of all runs together may not fit in memory. They are read again when their run starts. */
async function readItem(item: unknown): Promise<ItemInputs> {
  const given = await readRawInputs(item)
  return { ...given, files: noFiles, again: given.files.size > 0 }
}

function noResult(runId: string | undefined, words: string): NoResult {
  return { runId, raw: '', output: undefined, toString: () => words }
}

/** A text is the prefix of each id: `nightly-1`, `nightly-2`. A function returns each id. */
async function runIds(
  id: unknown,
  all: readonly Inputs[],
  nameOf: (index: number) => string,
): Promise<(string | undefined)[]> {
  if (id === undefined) return []
  const ids: string[] = []
  for (const [index, inputs] of all.entries()) {
    const one = (): string =>
      checkNewRunId(typeof id === 'function' ? callId(id, inputs, index) : `${checkNewRunId(id)}-${index + 1}`)
    ids.push(await withItemName(nameOf(index), one))
  }
  const known = new Map<string, number>()
  for (const [index, one] of ids.entries()) {
    const before = known.get(one)
    if (before !== undefined) {
      const words = `${nameOf(before)} and ${nameOf(index)} both get the run id ${describe(one)}; give each its own`
      throw new RepriseError('OPTION_INVALID', words)
    }
    known.set(one, index)
  }
  return ids
}

function callId(id: unknown, inputs: Inputs, index: number): unknown {
  try {
    return (id as (inputs: Inputs, index: number) => unknown)(plainInputs(inputs), index)
  } catch (error) {
    throw new RepriseError('CALLBACK_FAILED', `the id function threw: ${redact(messageOf(error))}`, {
      cause: error,
    })
  }
}

async function withItemName<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    // missing inputs of one run must not be given to all
    const missing = error.next?.type === 'give'
    throw reworded(
      error,
      `${name}: ${error.facts}${missing ? '; give it there' : ''}`,
      missing ? { next: undefined } : {},
    )
  }
}
