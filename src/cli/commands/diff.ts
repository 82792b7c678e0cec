// `reprise diff`: what differs between two runs, as their journals tell it.
import { costOfRun } from '../../engine/plan/estimate.ts'
import { readRun } from '../../engine/read-run.ts'
import { diffLines, diffRuns, type DiffLine } from '../../journal/diff/index.ts'
import { exitCodes } from '../exit-codes.ts'
import { findRun } from '../find-run.ts'
import type { Invocation } from '../invocation.ts'
import { openRuns } from '../stores.ts'
import type { Format } from '../terminal/terminal.ts'

const formats: { readonly [kind in DiffLine['kind']]: Format | undefined } = {
  title: 'bold',
  note: 'dim',
  removed: 'red',
  added: 'green',
  same: undefined,
}

export async function diff({ terminal, args, options }: Invocation): Promise<number> {
  await using engine = await openRuns(options.store)
  const [a, b] = await Promise.all(
    [args[0], args[1]].map(async (name) => {
      const { run } = await findRun(engine.store, name ?? '')
      const { state } = await readRun(engine.store, run)
      return { state, cost: await costOfRun(state, undefined) }
    }),
  )
  const found = diffRuns(a!.state, b!.state, { a: a!.cost, b: b!.cost })
  if (terminal.json) terminal.record(found)
  else for (const { kind, text } of diffLines(found)) terminal.out.line({ text, format: formats[kind] })
  return exitCodes.done
}
