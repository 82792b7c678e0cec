// Limits as they are typed: `tokens=50000,cost=2.5,seconds=600`, or some of these.
import { limitProblem } from '../../engine/inbox/questions.ts'
import type { Limit } from '../../journal/entries.ts'
import { UsageError } from '../exit-codes.ts'

/** A usage error that names the option. */
export function readLimit(what: string, text: string): Limit {
  const pairs = text.split(',').map((pair): [string, number | string] => {
    const [, name = pair, value = ''] = /^([^=]*)=(.*)$/.exec(pair.trim()) ?? []
    // `limitProblem` refuses what is not a number
    return [name, value.trim() === '' || Number.isNaN(Number(value)) ? value : Number(value)]
  })
  const limit = Object.fromEntries(pairs)
  const problem = limitProblem(limit)
  if (problem === undefined) return limit
  throw new UsageError(`${what} ${problem}; write it as tokens=50000,cost=2.5,seconds=600, or some of these`)
}
