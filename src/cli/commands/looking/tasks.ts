// `reprise tasks`: a run's tasks with the ids that `replay -t` takes, and how each output begins.
import { viewRun } from '../../../runs/run-view.ts'
import { exitCodes } from '../../exit-codes.ts'
import { findRun } from '../../find/find-run.ts'
import type { Invocation } from '../../invocation.ts'
import { formatOf } from '../../show/run-words.ts'
import { openRuns } from '../../find/open-runs.ts'
import { printTable } from '../../terminal/print-table.ts'

export async function tasks(invocation: Invocation): Promise<number> {
  const { terminal, args } = invocation
  await using engine = await openRuns(invocation)
  const { run } = await findRun(engine.store, args[0] ?? 'latest')
  const { runId, crew, tasks: found } = await viewRun(engine, run)
  if (terminal.json) {
    for (const task of found) terminal.record({ runId, ...task })
    return exitCodes.done
  }
  terminal.err.line(`tasks of run ${runId} of crew ${crew}`)
  printTable(
    terminal.out,
    [
      { title: 'task', value: (task) => task.name, shrinkTo: 12 },
      { title: 'id', value: (task) => task.id },
      { title: 'status', value: (task) => task.status, format: (task) => formatOf(task.status) },
      { title: 'output', value: (task) => task.raw.trimStart().split('\n', 1)[0] ?? '', shrinkTo: 8 },
    ],
    found,
  )
  return exitCodes.done
}
