// Which inputs a crew can use, as far as that is known. With an input schema, the schema decides instead.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { filesIn } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { nearest } from '../../base/options.ts'

/** Undefined if a schema decides, or if code may use any input. */
export function usableInputs(crew: CrewDefinition): readonly string[] | undefined {
  return crew.inputs || codeMayUse(crew) ? undefined : namesIn(crew)
}

/**
 * INPUT_UNKNOWN for an input that no task can use. Files are exempt: a tool or a callback can read any file. For a
 * fork, the inputs of the old run count as known. An unknown name that is nearly the name of another input is refused
 * even if code may use any input, unless both are given: otherwise the fork would silently execute with the old value.
 * Without an old run, such a typo is INPUT_MISSING.
 */
export function checkInputNames(
  crew: CrewDefinition,
  given: Inputs,
  parent?: Pick<RunState, 'inputs' | 'given'>,
): void {
  const code = codeMayUse(crew)
  if (crew.inputs || (code && !parent)) return
  const used = namesIn(crew)
  const known = new Set([...used, ...Object.keys(parent?.inputs ?? {}), ...Object.keys(parent?.given ?? {})])
  const missing = [...known].filter((name) => !Object.hasOwn(given, name))
  for (const [name, value] of Object.entries(given)) {
    if (known.has(name)) continue
    const near = nearest(name, missing)
    if (near === undefined && (code || filesIn(value).length > 0)) continue
    const all = known.size === 0 ? 'none' : [...known].join(', ')
    const meant = near === undefined ? `it has ${all}; remove ${name}` : `did you mean ${near}?`
    const schema = near === undefined ? ', or' : code ? `; if its code uses ${name},` : undefined
    const declare = schema === undefined ? '' : `${schema} give the crew an input schema`
    throw new RepriseError('INPUT_UNKNOWN', `crew ${crew.name} has no input ${name}; ${meant}${declare}`)
  }
}

/** Functions, conditions, guardrails and nested crews may use any input. */
function codeMayUse({ tasks, callbacks }: CrewDefinition): boolean {
  const judges = ({ guardrails }: TaskDefinition): boolean => guardrails.some((guardrail) => 'judge' in guardrail)
  return callbacks?.before !== undefined || tasks.some((task) => task.when || task.code || task.child || judges(task))
}

/** Inputs used in texts, including those of nested crews. */
function namesIn({ tasks }: CrewDefinition): string[] {
  return [...new Set(tasks.flatMap((task) => [...task.inputs, ...(task.child ? namesIn(task.child.crew) : [])]))]
}
