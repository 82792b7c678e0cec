// Named checks of what only crews know: agents, tasks, names, guardrails.
import { check, listOf, type Check } from '../../base/checks.ts'
import { RepriseError } from '../../base/errors.ts'
import { nameProblem } from '../../journal/paths.ts'
import { checkModelKind, type LanguageModel } from '../../models/resolve/resolve-model.ts'
import { describe, hiddenCharacters } from '../../base/options.ts'
import { asAnswerSchema, asValueSchema, type AnswerSchema, type ValueSchema } from '../../schema/answer-schema.ts'
import { dateCodes, isDateFormat } from '../../text/date-format.ts'
import { toolList, type Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Task } from '../task.ts'

/** How a field of a YAML file gives an option; `code` is what to write in TypeScript where it cannot. */
export type FromYaml =
  | 'text'
  | 'flag'
  | 'degree'
  | 'number'
  | 'sentences'
  | 'settings'
  | 'model'
  | 'tools'
  | 'agent'
  | 'context'
  | 'key'
  | { readonly code: string }

/** The default of a list. Frozen, since all share it. */
export const none: readonly never[] = Object.freeze([])

export const nameCheck: Check<string> = {
  expected: 'up to 100 characters without /, # and characters that are not seen',
  read(what, value) {
    const problem = typeof value === 'string' ? nameProblem(value) : 'is not a text'
    if (problem === undefined) return value as string
    throw new RepriseError(
      'OPTION_INVALID',
      `${what} is ${describe(value)}, which ${problem}; give ${nameCheck.expected}`,
    )
  },
}

export const roleCheck: Check<string> = check(
  'a text that is not empty, without line breaks and other characters that are not seen',
  (value) => typeof value === 'string' && value.trim() !== '' && !hiddenCharacters.test(value),
)

export const dateFormatCheck: Check<string> = check(
  `a format such as \`%d %B %Y\`, of ${dateCodes.slice(0, -1).join(', ')}`,
  (value) => typeof value === 'string' && isDateFormat(value),
)

export const modelCheck: Check<LanguageModel | string> = {
  expected: '`provider/model`, or a language model of the AI SDK',
  read(what, value) {
    checkModelKind(what, value)
    return value as LanguageModel | string
  },
}

export const toolsCheck: Check<readonly Tool[]> = { expected: 'a list or a record of tools', read: toolList }

export const schemaCheck: Check<AnswerSchema> = {
  expected: "a Standard Schema that gives JSON Schema, such as zod's",
  read: (what, value) => asAnswerSchema(value, what),
}

export const inputSchemaCheck: Check<ValueSchema> = {
  expected: "a Standard Schema, such as zod's",
  read: (what, value) => asValueSchema(value, what),
}

export const agentCheck: Check<Agent> = check('an agent made with new Agent({ … })', isAgent)
export const agentsCheck: Check<readonly Agent[]> = listOf('a list of agents', agentCheck.expected, isAgent)
export const tasksCheck: Check<readonly Task[]> = listOf('a list of tasks', 'a task made with new Task({ … })', isTask)

export const managerCheck: Check<Agent | LanguageModel | string> = {
  expected: `an agent, or a model as agents take it`,
  read: (what, value) => (isAgent(value) ? value : modelCheck.read(what, value)),
}

/** Whether it was made by `new Agent`, also of another install of the package. */
export function isAgent(value: unknown): value is Agent {
  const candidate = value as Partial<Agent> | null | undefined
  return (
    typeof candidate?.maxIterations === 'number' &&
    Array.isArray(candidate.tools) &&
    Array.isArray(candidate.guardrails)
  )
}

/** Whether it was made by `new Task`, also of another install of the package. */
function isTask(value: unknown): boolean {
  const candidate = value as Partial<Task> | null | undefined
  return typeof candidate?.id === 'string' && typeof candidate.name === 'string' && Array.isArray(candidate.guardrails)
}
