// `reprise requeue`: has a worker continue a run that otherwise only a resume would. It needs no code of the crew.
import { requeue } from '../../../engine/inbox/requeue.ts'
import { canRequeue } from '../../../runs/find.ts'
import { exitCodes } from '../../exit-codes.ts'
import { aboutRun } from '../../find/about-run.ts'
import { findRun } from '../../find/find-run.ts'
import type { Invocation } from '../../invocation.ts'
import { signedBy } from '../../input/login-name.ts'
import { openRuns } from '../../find/open-runs.ts'

export async function requeueRun(invocation: Invocation<{ readonly by?: string }>): Promise<number> {
  const { terminal, args, options, commands } = invocation
  await using engine = await openRuns(invocation)
  const row = await findRun(engine.store, args[0], undefined, { fits: canRequeue })
  const named = await aboutRun(commands, engine.store, row)
  const signed = signedBy(options.by)
  const runId = await requeue(engine, named, signed)
  if (terminal.json) terminal.record({ runId, requeued: true, ...signed })
  const work = commands.advice({ act: 'command', to: 'start one', words: ['worker'], takes: 'file' })
  terminal.err.line(`run ${runId} waits for a worker, which continues it by itself; where none serves it, ${work}`)
  return exitCodes.done
}
