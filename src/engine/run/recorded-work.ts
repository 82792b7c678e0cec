// What a task has recorded: whether it is more than a declaration, and in words for people who decide about it.
import { itemsOf } from '../../journal/state/at-path.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import { activeChildren } from '../../journal/state/tally.ts'
import { plural } from '../../text/words.ts'
import { onceCalls } from '../calls/once.ts'
import type { ReadChild } from '../task/children.ts'

/** Whether the task has recorded work, which must not be lost or paid for again. */
export function hasRecord({ attempts, nested, output }: TaskState): boolean {
  return attempts.length > 0 || nested.length > 0 || output !== undefined
}

/** Returns the states of a task's unfinished child runs, at any depth. */
export async function statesWithin(state: RunState, task: TaskState, read: ReadChild): Promise<RunState[]> {
  const found: RunState[] = []
  const names = [task, ...itemsOf(state, task)].map(({ name }) => name)
  for (const { run } of task.removed ? [] : names.flatMap((name) => activeChildren(state, name))) {
    const child = await read(run)
    if (!child) continue
    found.push(child)
    for (const inner of child.tasks.values()) found.push(...(await statesWithin(child, inner, read)))
  }
  return found
}

/** Says what a task and its items have recorded. `within`: the states of its child runs. */
export function describeRecord(state: RunState, task: TaskState, within: readonly RunState[]): string[] {
  const items = itemsOf(state, task)
  const parts = [task, ...items]
  const paths = parts.flatMap((part) => [...part.attempts, ...part.nested])
  const own = paths.flatMap((path) => state.attempts.get(path) ?? [])
  const attempts = [...own, ...within.flatMap((run) => [...run.attempts.values()])]
  const steps = attempts
    .flatMap(({ turns }) => turns)
    .reduce((sum, { reply, calls }) => {
      const replies = reply.usage.calls > 0 ? 1 : 0
      return sum + replies + calls.filter(({ outcome }) => outcome !== undefined).length
    }, 0)
  const calls = [...parts.flatMap((part) => onceCalls(state, part.name)), ...within.flatMap((run) => onceCalls(run))]
  const once = calls.filter((call) => !call.inherited).length
  const asked = openQuestions(state).filter(({ asking }) => parts.some(({ name }) => asking[0]?.task === name))
  const open = asked.length + within.flatMap((run) => openQuestions(run)).length
  const [child, ...more] = parts.flatMap((part) => activeChildren(state, part.name))
  const outputs = items.filter(({ output }) => output).length
  const found = [
    ...(task.output ? ['its output'] : []),
    ...(outputs > 0 ? [`the outputs of ${plural(outputs, 'item')}`] : []),
    ...(steps > 0 ? [plural(steps, 'recorded step')] : []),
    ...(once > 0 ? [`${plural(once, 'call')} that must not be repeated`] : []),
    ...(open > 0 ? [plural(open, 'open question')] : []),
    ...(child ? [more.length > 0 ? plural(more.length + 1, 'child run') : `run ${child.run}`] : []),
  ]
  return found.length > 0 ? found : ['a started attempt']
}
