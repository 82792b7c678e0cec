// Which inputs a crew can use, as far as that can be known. With a schema of its inputs, the schema decides instead.
import type { CrewDefinition, Inputs, TaskDefinition } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { filesIn } from '../../journal/files.ts'
import type { RunState } from '../../journal/state/state.ts'
import { nearest } from '../../base/options.ts'

/** Undefined where a schema decides, or where code may use an input of any name. */
export function usableInputs(crew: CrewDefinition): readonly string[] | undefined {
  return crew.inputs || codeMayUse(crew) ? undefined : namesIn(crew)
}

/**
 * INPUT_UNKNOWN for an input that nothing in the crew can use. A tool or a callback can read any file. What is given
 * over the inputs of a parent may replace any of these. If it doesn't, and its name is nearly that of another input,
 * the new run would be executed with the old value of that one. So it is refused even where code may use any input,
 * unless both are given. Without a parent, the input of a text is missing then (INPUT_MISSING).
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
    const meant = near === undefined ? `it has ${all}; leave ${name} out` : `did you mean ${near}?`
    const schema = near === undefined ? ', or' : code ? `; if its code uses ${name},` : undefined
    const declare = schema === undefined ? '' : `${schema} give the crew a schema of its inputs`
    throw new RepriseError('INPUT_UNKNOWN', `crew ${crew.name} has no input ${name}; ${meant}${declare}`)
  }
}

/** Functions, conditions, guardrails and nested crews may use any input. */
function codeMayUse({ tasks, callbacks }: CrewDefinition): boolean {
  const judges = ({ guardrails }: TaskDefinition): boolean => guardrails.some((guardrail) => 'judge' in guardrail)
  return callbacks?.before !== undefined || tasks.some((task) => task.when || task.code || task.child || judges(task))
}

/** The inputs that texts use, also those of crews that are tasks. */
function namesIn({ tasks }: CrewDefinition): string[] {
  return [...new Set(tasks.flatMap((task) => [...task.inputs, ...(task.child ? namesIn(task.child.crew) : [])]))]
}
