// `reprise fork`: a new run from an old one, with other inputs, or a person's outputs in place of some.
import type { RetryPolicy } from '../../../engine/plan/plan-fork.ts'
import { editOutput, keptWords, type Edited } from '../../input/editor.ts'
import { UsageError } from '../../exit-codes.ts'
import { findCrewTask, taskNameOf } from '../../find/find-task.ts'
import type { Invocation } from '../../invocation.ts'
import { signedBy } from '../../input/login-name.ts'
import { make, type MakingOptions } from './make.ts'
import { outputsOf, valueOf } from '../../input/typed-outputs.ts'

export interface ForkCommandOptions extends MakingOptions {
  readonly from?: string
  readonly retry?: RetryPolicy
  readonly output?: readonly string[]
  readonly edit?: readonly string[]
  readonly by?: string
}

export async function fork(invocation: Invocation<ForkCommandOptions>): Promise<number> {
  const { options, terminal } = invocation
  const edits = new Map<string, Edited>()
  try {
    return await make(invocation, async (crew, store, run) => {
      const from = await taskNameOf(crew, options.from)
      const outputs = await outputsOf(crew, options.output)
      for (const reference of options.edit ?? []) {
        const task = await findCrewTask(crew, reference)
        if (outputs.has(task.name))
          throw new UsageError(`task ${task.name} is given by --output and by --edit; give one of them`)
        const edited = await editOutput(store, await run(), task)
        edits.set(task.name, edited)
        outputs.set(task.name, valueOf(task, edited.text, `what you wrote for ${task.name}`))
      }
      return {
        ...(from === undefined ? {} : { from }),
        ...(options.retry === undefined ? {} : { retry: options.retry }),
        ...(outputs.size === 0 ? {} : { outputs: Object.fromEntries(outputs), ...signedBy(options.by) }),
        used() {
          for (const { discard } of edits.values()) discard()
          edits.clear()
        },
      }
    })
  } finally {
    for (const [task, edited] of edits) terminal.err.line(keptWords(edited, task))
  }
}
