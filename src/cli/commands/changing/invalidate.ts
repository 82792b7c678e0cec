// `reprise invalidate`: has a task of an unfinished run executed again.
import { sendMessage } from '../../../engine/inbox/send-message.ts'
import { readRun } from '../../../engine/read/read-run.ts'
import { isUnfinished } from '../../../runs/find.ts'
import { currentTasks } from '../../../runs/task-view.ts'
import { exitCodes } from '../../exit-codes.ts'
import { aboutRun } from '../../find/about-run.ts'
import { findRun } from '../../find/find-run.ts'
import { chooseTask } from '../../find/find-task.ts'
import type { Invocation } from '../../invocation.ts'
import { signedBy } from '../../input/login-name.ts'
import { openRuns } from '../../find/open-runs.ts'
import { whatNext } from './what-next.ts'

export async function invalidate(invocation: Invocation<{ readonly by?: string }>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  await using engine = await openRuns(invocation)
  const row = await findRun(engine.store, args[0], undefined, { fits: isUnfinished })
  const run = await aboutRun(commands, engine.store, row)
  const { state } = await readRun(engine.store, run)
  const { name: task } = await chooseTask(currentTasks(state), args[1], `run ${run}`)
  const signed = signedBy(options.by)
  await sendMessage(engine, run, { kind: 'invalidate', task, ...signed })
  if (terminal.json) terminal.record({ runId: run, task, invalidated: true, ...signed })
  terminal.err.line(`task ${task} of run ${run} is to be executed again`)
  terminal.err.line(await whatNext(commands, engine.store, run))
  return exitCodes.done
}
