// Ends a schedule that is kept by its runs: those that wait are cancelled, and nobody begins them to hand it on.
import { defined } from '../../defined.ts'
import { RepriseError } from '../../errors.ts'
import { describe } from '../../options.ts'
import type { Engine } from '../definition.ts'
import { scheduledRows } from '../read/stored-schedules.ts'
import { tell, unlessOver } from './tell.ts'

/** Whoever takes one up at this moment has put the next one into the queue: that one is found by looking again. */
const looks = 5

/** The runs that were cancelled. OPTION_INVALID when no run of it waits. */
export async function endSchedule(
  engine: Engine,
  { crew, name, by }: { readonly crew: string; readonly name: string; readonly by?: string | undefined },
): Promise<string[]> {
  const ended = new Set<string>()
  for (let look = 0; look < looks; look++) {
    let found = 0
    for await (const { row } of scheduledRows(engine.store, { crew, name })) {
      if (ended.has(row.run)) continue
      found++
      ended.add(row.run)
      await tell(engine, row.run, { kind: 'cancel', ...defined({ by }) }).catch(unlessOver)
    }
    if (found === 0) break
  }
  if (ended.size > 0) return [...ended]
  const words = `crew ${crew} has no schedule ${describe(name)} of which a run waits; look at those that it has`
  throw new RepriseError('OPTION_INVALID', words)
}
