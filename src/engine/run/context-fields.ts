// What code is given of other tasks, as fields of a fingerprint: their outputs, and the schemas that parse them. A
// model is given only the texts; a function sees what the other task's schema makes of one, so an equal text under
// another schema is a different value to it.
import type { StoredOutput } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import { isMissing } from '../../journal/state/tally.ts'
import type { Outputs, TaskDefinition } from '../definition.ts'

/** The outputs of all tasks of a run, as they are when they are looked up. */
export function runOutputs(state: Pick<RunState, 'tasks'>): Required<Outputs> {
  return {
    get: (name) => state.tasks.get(name)?.output,
    lacks(name) {
      const task = state.tasks.get(name)
      return task !== undefined && isMissing(task)
    },
  }
}

/** Those of these tasks that have no output because one failed. */
export function missingOutputs(names: readonly string[], outputs: Outputs): string[] {
  return names.filter((name) => outputs.lacks?.(name))
}

/** `tasks` in the crew's order: the last of them is `previous`. */
export function contextFields(tasks: readonly TaskDefinition[], outputs: Outputs): [field: string, value: Json][] {
  const given = tasks.flatMap((task): [string, Json][] => {
    const output = outputs.get(task.name)
    if (!output) return []
    const value: Json = isPlainText(output, task) ? output.raw : { json: output.raw }
    const { reading } = outputMaker(task, output)
    return [
      [`context:${task.name}`, value],
      ...(reading === undefined ? [] : [[`output schema:${task.name}`, reading] satisfies [string, Json]]),
    ]
  })
  const names = tasks.map(({ name }) => name)
  const missing = missingOutputs(names, outputs)
  return [
    ['context', names],
    ...given,
    ...(missing.length > 0 ? [['missing context', missing] satisfies [string, Json]] : []),
  ]
}

/** Whose output it is: for a nested crew whose last task was skipped, that of an earlier one of its tasks. */
export function outputMaker(task: Maker, { within }: Pick<StoredOutput, 'within'>): Pick<TaskDefinition, Read> {
  if (!task.child || within === undefined) return task
  const [name, ...rest] = within.split('/')
  const made = task.child.crew.tasks.find((one) => one.name === name || (name !== undefined && one.was.includes(name)))
  // today's crew no longer has it: its output is read as plain JSON
  if (!made) return { schema: undefined }
  return outputMaker(made, rest.length > 0 ? { within: rest.join('/') } : {})
}

type Read = 'schema' | 'reading'
type Maker = Pick<TaskDefinition, 'schema'> & Partial<Pick<TaskDefinition, 'reading' | 'child'>>

/** Whether an output is read as the text that it is. */
export function isPlainText(
  { structured }: Pick<StoredOutput, 'structured'>,
  task: (Pick<TaskDefinition, 'schema'> & Partial<Pick<TaskDefinition, 'code' | 'child'>>) | undefined,
): boolean {
  // without a schema, a function may still give something other than text
  return task && !task.code && !task.child ? !task.schema : !structured
}
