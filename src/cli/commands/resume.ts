// `reprise resume`: goes on with a run in this process.
import type { ChangedPolicy } from '../../engine/definition.ts'
import { limitProblem } from '../../engine/questions.ts'
import type { Limit } from '../../journal/entries.ts'
import { execute } from '../execute.ts'
import { UsageError } from '../exit-codes.ts'
import { findRun } from '../find-run.ts'
import type { Invocation } from '../invocation.ts'
import { loadCrew } from '../load-crew.ts'

export interface ResumeOptions {
  readonly file?: string
  readonly crew?: string
  readonly through?: string
  readonly changed?: ChangedPolicy
  readonly budget?: string
}

export async function resume(invocation: Invocation<ResumeOptions>): Promise<number> {
  const { args, options } = invocation
  const budget = options.budget === undefined ? undefined : readBudget(options.budget)
  const found = await loadCrew(options.file, options.crew)
  return execute(invocation, found, async ({ crew, store, signal }) => {
    const [name] = args
    const { through, changed } = options
    const run = name === undefined ? undefined : (await findRun(store, name, crew.name)).run
    const given = {
      ...(through === undefined ? {} : { through }),
      ...(changed === undefined ? {} : { changed }),
      ...(budget === undefined ? {} : { budget }),
    }
    return crew.resume(run, { ...given, signal })
  })
}

/** `tokens=50000,cost=2.5` */
function readBudget(text: string): Limit {
  const pairs = text.split(',').map((pair): [string, number | string] => {
    const [, name = pair, value = ''] = /^([^=]*)=(.*)$/.exec(pair.trim()) ?? []
    // what is no number is left as it was typed, to be told so
    return [name, value.trim() === '' || Number.isNaN(Number(value)) ? value : Number(value)]
  })
  const limit = Object.fromEntries(pairs)
  const problem = limitProblem(limit)
  if (problem === undefined) return limit
  throw new UsageError(`--budget ${problem}; write it as --budget tokens=50000,cost=2.5,seconds=600`)
}
