// `reprise diff`: the differences between two runs, computed from their journals.
import { runArgument, withStore } from '../options.ts'
import type { Store } from '../../stores/store.ts'
import { costOfRun } from '../../read/costs.ts'
import { readRun } from '../../read/read-run.ts'
import { diffLines, diffRuns, type DiffLine } from '../../runs/diff/index.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { RunViewStatus } from '../../runs/status.ts'
import { rowStatus } from '../../runs/summary.ts'
import { exitCodes } from '../exit-codes.ts'
import { findRun } from '../find/find-run.ts'
import type { Command, Invocation } from '../command.ts'
import { openRuns } from '../find/open-runs.ts'
import type { Format } from '../output/terminal.ts'

const formats: { readonly [kind in DiffLine['kind']]: Format | undefined } = {
  title: 'bold',
  note: 'dim',
  removed: 'red',
  added: 'green',
  same: undefined,
}

export const diffCommand: Command = {
  declare: (command) => withStore(command).argument('[a]', runArgument).argument('[b]', runArgument),
  examples: ['reprise diff claim-1 latest'],
  action: diff,
}

async function diff(invocation: Invocation): Promise<number> {
  const { terminal, args } = invocation
  await using runs = await openRuns(invocation)
  // one after the other, since the person may have to pick both
  const a = await readSide(runs.store, args[0], 'first run')
  const b = await readSide(runs.store, args[1], 'second run')
  const found = diffRuns(a.state, b.state, { a, b })
  if (terminal.json) terminal.record(found)
  else for (const { kind, text } of diffLines(found)) terminal.out.line({ text, format: formats[kind] })
  return exitCodes.done
}

async function readSide(
  store: Store,
  name: string | undefined,
  which: string,
): Promise<{ state: RunState; cost: number | undefined; status: RunViewStatus }> {
  const row = await findRun(store, name, undefined, { which })
  const { state } = await readRun(store, row.run)
  return { state, cost: await costOfRun(state, undefined), status: await rowStatus(store, row) }
}
