// The failed tasks that a run continued without.
import type { TaskFailure } from '../entries.ts'
import type { RunState } from './state.ts'

/** In the order of the crew. Those of finished nested crews begin with the name of their task. */
export function taskFailures({ tasks }: RunState): TaskFailure[] {
  const own = [...tasks.values()].filter((task) => !task.removed)
  return own.flatMap(({ name, final, error, output }): readonly TaskFailure[] => {
    if (final && error) {
      const skipped = own.filter((other) => other.failed?.includes(name)).map((other) => other.name)
      return [{ task: name, error, skipped }]
    }
    return (output?.failures ?? []).map(({ task, skipped, ...failure }) => ({
      ...failure,
      task: `${name}/${task}`,
      skipped: skipped.map((other) => `${name}/${other}`),
    }))
  })
}
