// `reprise tasks`: a run's tasks with the ids that `replay -t` takes, and how each output begins.
import { readRun } from '../../../engine/read/read-run.ts'
import { exitCodes } from '../../exit-codes.ts'
import { findRun } from '../../find/find-run.ts'
import type { Invocation } from '../../invocation.ts'
import { recordOf } from '../../show/run-record.ts'
import { formatOf } from '../../show/run-words.ts'
import { openRuns } from '../../find/open-runs.ts'
import { printTable } from '../../terminal/print-table.ts'

export async function tasks({ terminal, args, options }: Invocation): Promise<number> {
  await using engine = await openRuns(options.store)
  const { run } = await findRun(engine.store, args[0] ?? 'latest')
  const { state } = await readRun(engine.store, run)
  const abandoned = state.status === 'running' && (await engine.store.holder(run)) === undefined
  const record = recordOf(state, abandoned)
  if (terminal.json) {
    for (const task of record.tasks) terminal.record({ run, ...task })
    return exitCodes.done
  }
  terminal.err.line(`tasks of run ${run} of crew ${record.crew}`)
  printTable(
    terminal.out,
    [
      { title: 'task', value: (task) => task.name, shrinkTo: 12 },
      { title: 'id', value: (task) => task.id },
      { title: 'status', value: (task) => task.status, format: (task) => formatOf(task.status) },
      { title: 'output', value: (task) => (task.raw ?? '').trimStart().split('\n', 1)[0] ?? '', shrinkTo: 8 },
    ],
    record.tasks,
  )
  return exitCodes.done
}
