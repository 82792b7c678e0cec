// Checks of option values: names, agents, tasks, models, tools and schemas.
import { check, listOf, type Check, describe, hiddenCharacters } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { nameProblem } from '../../journal/paths.ts'
import { checkModelKind, type LanguageModel } from '../../models/resolve/resolve-model.ts'
import { asAnswerSchema, asValueSchema, type AnswerSchema, type ValueSchema } from '../../schema/answer-schema.ts'
import { dateCodes, isDateFormat } from '../../text/date-format.ts'
import { toolList, type Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import type { Task } from '../task.ts'

/** How a YAML field sets an option. `code`: the TypeScript to write instead, since YAML cannot express the value. */
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

/** Default of list options. Frozen, since all objects share it. */
export const none: readonly never[] = Object.freeze([])

export const nameCheck: Check<string> = {
  expected: 'up to 100 characters, without /, # or invisible characters',
  read(what, value) {
    const problem = typeof value === 'string' ? nameProblem(value) : 'is not a string'
    if (problem === undefined) return value as string
    throw new RepriseError(
      'OPTION_INVALID',
      `${what} is ${describe(value)}, which ${problem}; give ${nameCheck.expected}`,
    )
  },
}

export const roleCheck: Check<string> = check(
  'a non-empty string without line breaks or other invisible characters',
  (value) => typeof value === 'string' && value.trim() !== '' && !hiddenCharacters.test(value),
)

export const dateFormatCheck: Check<string> = check(
  `a format such as \`%d %B %Y\`, made of ${dateCodes.slice(0, -1).join(', ')}`,
  (value) => typeof value === 'string' && isDateFormat(value),
)

export const modelCheck: Check<LanguageModel | string> = {
  expected: '`provider/model`, or an AI SDK language model',
  read(what, value) {
    checkModelKind(what, value)
    return value as LanguageModel | string
  },
}

export const toolsCheck: Check<readonly Tool[]> = { expected: 'a list or a record of tools', read: toolList }

export const schemaCheck: Check<AnswerSchema> = {
  expected: "a Standard Schema with JSON Schema output, such as zod's",
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
  expected: 'an agent, `provider/model`, or an AI SDK language model',
  read: (what, value) => (isAgent(value) ? value : modelCheck.read(what, value)),
}

/** Whether the value is an Agent, possibly from another copy of the package. */
export function isAgent(value: unknown): value is Agent {
  const candidate = value as Partial<Agent> | null | undefined
  return (
    typeof candidate?.maxIterations === 'number' &&
    Array.isArray(candidate.tools) &&
    Array.isArray(candidate.guardrails)
  )
}

/** Whether the value is a Task, possibly from another copy of the package. */
function isTask(value: unknown): boolean {
  const candidate = value as Partial<Task> | null | undefined
  return typeof candidate?.id === 'string' && typeof candidate.name === 'string' && Array.isArray(candidate.guardrails)
}
