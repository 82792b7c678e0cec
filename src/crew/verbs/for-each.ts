// kickoffForEach: kicks off one run for each element of a list of inputs, several at a time.
import type { CrewDefinition, ExecuteOptions, Inputs } from '../../engine/definition.ts'
import { functionCall } from '../../engine/task/function-call.ts'
import { checkNewRunId } from '../../read/row-summary.ts'
import { asRepriseError, messageOf, RepriseError, reworded } from '../../base/errors.ts'
import { noFiles, plainInputs } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { checkKeys, defined, describe, func, optional } from '../../base/options.ts'
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

export interface ForEachOptions<Reference = TaskReference, T extends Tasks = Tasks> extends ExecuteChoices<Reference> {
  /**
   * Prefix of the run ids (`nightly` for `nightly-1`, `nightly-2`), or a function that returns each id. An existing id
   * has the same effect as in `kickoff`. Default: new ids.
   */
  readonly id?: string | ((inputs: { readonly [name: string]: Json }, index: number) => string)
  /** How many runs may execute at once. Default: 4. */
  readonly concurrency?: number
  /** Whether to reuse outputs of earlier tasks with the same code and inputs. Default: false. */
  readonly reuse?: Reuse
  /** Returns the name of an element in errors, such as `line 3 of claims.jsonl`. Default: `inputs[2]`. */
  readonly nameOf?: (index: number) => string
  /**
   * Called with each result when its run has ended, instead of a line in the log. Not called for runs that never
   * started. If it throws, no further run starts, and the call rejects with CALLBACK_FAILED.
   */
  readonly onResult?: (result: ForEachResult<T>, index: number) => void | Promise<void>
}

/** Result of one run. `pending` if the signal was aborted before the run started. */
export type ForEachResult<T extends Tasks = readonly Task[]> =
  | RunResult<T>
  | (NoResult & { readonly status: 'failed' | 'cancelled'; readonly error: RepriseError })
  | (NoResult & { readonly status: 'pending' })

interface NoResult {
  readonly runId: string | undefined
  readonly raw: ''
  readonly output: undefined
  /** Returns the reason why there is no result. */
  toString(): string
}

interface ForEachRequest extends Pick<ForEachOptions, 'nameOf' | 'onResult'> {
  readonly list: unknown
  readonly id: unknown
  readonly concurrency: unknown
  readonly reuse: RunState['reuse']
  readonly choices: ExecuteOptions
}

/**
 * Checks the options. Inputs are checked later, one by one. Throws OPTION_INVALID, OPTION_UNKNOWN or TASK_NOT_FOUND.
 */
export function readForEach(crew: CrewDefinition, list: unknown, options: ForEachOptions): ForEachRequest {
  checkKeys('kickoffForEach', options, ['id', 'concurrency', 'reuse', 'nameOf', 'onResult', ...executeKeys])
  const { id, concurrency } = options
  const hooks = {
    nameOf: optional('nameOf', options.nameOf, func),
    onResult: optional('onResult', options.onResult, func),
  }
  return {
    list,
    id,
    concurrency,
    reuse: readReuse(options.reuse),
    choices: readChoices(crew, options),
    ...defined(hooks),
  }
}

/**
 * Checks all inputs before the first run starts. Rejects with INPUT_INVALID, INPUT_MISSING and other errors of a
 * kickoff. Within a function task, the promise stays pending if one of the runs suspends.
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
  const { list, reuse, choices, onResult, nameOf = (index) => `inputs[${index}]` } = request
  const { logger } = open.definition
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
  // within a function task, a suspended run has no result, and frees its slot for the next run
  let waits = false
  const runOne = async (read: ItemInputs, index: number): Promise<ForEachResult | undefined> => {
    const id = ids[index]
    try {
      const inputs = read.rereadFiles ? await readRawInputs((list as readonly unknown[])[index]) : read
      const waiting = Promise.withResolvers<undefined>()
      const begin = async (): Promise<StartedRun> => {
        const started = await kickoff(open, { id, inputs, reuse, choices })
        void started.waits?.then(() => waiting.resolve(undefined))
        return started
      }
      const result = await Promise.race([startRun(begin), waiting.promise])
      waits ||= result === undefined
      return result
    } catch (error) {
      const failure = asRepriseError(error)
      const status = failure.code === 'RUN_CANCELLED' ? 'cancelled' : 'failed'
      return { ...noResult(failure.runId ?? id, failure.message), status, error: failure }
    }
  }
  let ended = 0
  let failure: RepriseError | undefined
  const report = async (result: ForEachResult, index: number): Promise<void> => {
    ended++
    if (!onResult) return logger.info(`[${result.runId}] ${result.status}: ${ended} of ${all.length} runs have ended`)
    try {
      await onResult(result, index)
    } catch (error) {
      failure ??= callbackError('onResult', error)
    }
  }
  const results = await mapConcurrently(
    all,
    concurrency,
    async (read, index) => {
      const result = await runOne(read, index)
      if (result) await report(result, index)
      return result
    },
    () => failure !== undefined || choices.signal?.aborted === true,
  )
  if (failure) throw failure
  if (waits) return undefined
  return results.map((result, index) => {
    return result ?? { ...noResult(ids[index], 'This run was not started'), status: 'pending' }
  })
}

interface ItemInputs extends RawInputs {
  /** Whether to read the files again when the run starts. */
  readonly rereadFiles: boolean
}

/**
 * Reads the inputs of one run, and drops file contents: those of all runs may not fit in memory together. The files are
 * read again when the run starts.
 */
async function readItem(item: unknown): Promise<ItemInputs> {
  const given = await readRawInputs(item)
  return { ...given, files: noFiles, rereadFiles: given.files.size > 0 }
}

function noResult(runId: string | undefined, words: string): NoResult {
  return { runId, raw: '', output: undefined, toString: () => words }
}

/** Returns the run ids. A string is the prefix of each id (`nightly-1`, `nightly-2`); a function returns each id. */
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
    throw callbackError('the id function', error)
  }
}

function callbackError(what: string, error: unknown): RepriseError {
  if (RepriseError.isInstance(error)) return error
  return new RepriseError('CALLBACK_FAILED', `${what} threw: ${redact(messageOf(error))}`, { cause: error })
}

async function withItemName<T>(name: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!RepriseError.isInstance(error)) throw error
    // the next step would give the missing input to all runs
    const missing = error.next?.type === 'give'
    throw reworded(
      error,
      `${name}: ${error.facts}${missing ? '; give it there' : ''}`,
      missing ? { next: undefined } : {},
    )
  }
}
