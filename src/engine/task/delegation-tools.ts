// The two tools with which an agent hands work to coworkers, or asks them.
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import type { Tool } from '../../tools/tool.ts'
import type { CoworkerDefinition, Inputs, TaskDefinition } from '../definition.ts'

const names = { work: 'delegate_work', question: 'ask_coworker' } as const
/** The tools that a delegating agent has besides its own. */
export const delegationTools: readonly string[] = Object.values(names)

/** Whether a call of this tool goes to a coworker. */
export function isDelegation({ coworkers }: TaskDefinition, tool: string): boolean {
  return coworkers.length > 0 && delegationTools.includes(tool)
}

/** What an agent hands to a coworker. */
export interface Delegation {
  readonly coworker: CoworkerDefinition
  readonly type: keyof typeof names
  readonly text: string
  readonly context: string | undefined
}

/** Reads the parsed input of a delegation call. */
export function readDelegation({ coworkers }: TaskDefinition, tool: string, input: unknown): Delegation {
  const { coworker = '', task, question = '', context } = input as { readonly [name: string]: string | undefined }
  const type = tool === names.work ? 'work' : 'question'
  const found = findCoworker(coworkers, coworker) as CoworkerDefinition
  return { coworker: found, type, text: task ?? question, context }
}

/** Adds the delegation tools to a task whose agent has coworkers. */
export function withDelegation(task: TaskDefinition, inputs: Inputs): TaskDefinition {
  if (task.coworkers.length === 0) return task
  const coworkers = task.coworkers.map((coworker) => withTitle(coworker, inputs))
  const roles = coworkers.map(({ agent, goal }) => `${agent.role} (${goal(inputs)})`).join('; ')
  const described = (what: string): string => `${what} Coworkers: ${roles}`
  return {
    ...task,
    coworkers,
    tools: [
      ...task.tools,
      delegationTool(
        names.work,
        described(
          'Hand a piece of work to a coworker, who does it and reports back. They know nothing but what you tell them.',
        ),
        schemaFor(coworkers, 'task', 'What is to be done, with everything that is needed for it'),
      ),
      delegationTool(
        names.question,
        described('Ask a coworker a question. They know nothing but what you tell them.'),
        schemaFor(coworkers, 'question', 'The question, with everything that is needed to answer it'),
      ),
    ],
  }
}

/** Uses the role as rendered with this run's inputs. */
function withTitle(coworker: CoworkerDefinition, inputs: Inputs): CoworkerDefinition {
  const { agent, goal, tools, guardrails, instructions } = coworker
  return {
    agent: { ...agent, role: agent.title(inputs) },
    goal,
    tools,
    guardrails,
    instructions,
    // lazy: agents may be each other's coworkers
    get coworkers() {
      return coworker.coworkers
    },
  }
}

function delegationTool(name: string, description: string, schema: AnswerSchema): Tool {
  return {
    name,
    description,
    // can be repeated: the coworker's steps are recorded
    effect: 'read',
    schema,
    settles: false,
    approval: () => false,
    run: () => undefined,
    key: () => undefined,
    settle: () => undefined,
  }
}

function schemaFor(coworkers: readonly CoworkerDefinition[], what: string, description: string): AnswerSchema {
  const roles = coworkers.map(({ agent }) => agent.role)
  const json = {
    type: 'object',
    properties: {
      coworker: { type: 'string', enum: roles },
      [what]: { type: 'string', description },
      context: { type: 'string', description: 'What they need to know' },
    },
    required: ['coworker', what],
    additionalProperties: false,
  }
  return {
    json,
    asked: json,
    unwrap: (answer) => answer,
    async validate(value) {
      const { coworker, [what]: text, context = '' } = (value ?? {}) as { [name: string]: unknown }
      const found = typeof coworker === 'string' && findCoworker(coworkers, coworker)
      if (!found) return { ok: false, reason: `coworker: choose from ${roles.join(', ')}` }
      if (typeof text !== 'string' || text.trim() === '') return { ok: false, reason: `${what}: must not be empty` }
      return { ok: true, value: { coworker: found.agent.role, [what]: text, context: String(context) } }
    },
  }
}

/** Also matches other spellings of a role, which models use. */
function findCoworker(coworkers: readonly CoworkerDefinition[], role: string): CoworkerDefinition | undefined {
  return (
    coworkers.find(({ agent }) => agent.role === role) ?? coworkers.find(({ agent }) => slug(agent.role) === slug(role))
  )
}

/** A role in the form that paths use. */
export function slug(role: string): string {
  return (
    role
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
      .replaceAll(/^-|-$/g, '') || 'coworker'
  )
}
