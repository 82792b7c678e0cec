// An agent that hands work to others, or asks them. To the model these are two tools; to the journal the work is an attempt within the
// call (`note#1/3.0/analyst#1`), recorded step by step, so that a run that is killed inside of it is resumed inside of it.
import type { PinnedRequest } from '../journal/entries.ts'
import type { Json } from '../journal/json.ts'
import { attemptPath } from '../journal/paths.ts'
import type { AttemptState, RunState } from '../journal/state.ts'
import { modelName } from '../models/resolve-model.ts'
import type { AnswerSchema } from '../schema/answer-schema.ts'
import type { Tool } from '../tools/tool.ts'
import type { CoworkerDefinition, CrewDefinition, TaskDefinition } from './definition.ts'
import { executeAttempt, takeTurn } from './execute-task.ts'
import { delegatedMessage, questionMessage } from './prompts.ts'
import type { CallScene, Delegate } from './tool-calls.ts'

const names = { work: 'delegate_work', question: 'ask_coworker' } as const

/** The task with the tools that its agent hands work on by. */
export function withDelegation(task: TaskDefinition): TaskDefinition {
  if (task.coworkers.length === 0) return task
  const there = task.coworkers.map(({ agent, goal }) => `${agent.role} (${goal})`).join('; ')
  const described = (what: string): string => `${what} Coworkers: ${there}`
  return {
    ...task,
    tools: [
      ...task.tools,
      delegationTool(
        names.work,
        described(
          'Hand a piece of work to a coworker, who does it and reports back. They know nothing but what you tell them.',
        ),
        schemaFor(task.coworkers, 'task', 'What is to be done, with everything that is needed for it'),
      ),
      delegationTool(
        names.question,
        described('Ask a coworker a question. They know nothing but what you tell them.'),
        schemaFor(task.coworkers, 'question', 'The question, with everything that is needed to answer it'),
      ),
    ],
  }
}

/** What the calls of these tools do. Undefined where a question is open within. */
export function delegatesOf(crew: CrewDefinition, scene: CallScene): ReadonlyMap<string, Delegate> {
  if (scene.task.coworkers.length === 0) return new Map()
  const to = (about: keyof typeof names): [string, Delegate] => [
    names[about],
    (path, input) => executeWithin(crew, scene, path, input as { [name: string]: string }, about),
  ]
  return new Map([to('work'), to('question')])
}

async function executeWithin(
  crew: CrewDefinition,
  scene: CallScene,
  call: string,
  input: { readonly [name: string]: string },
  about: keyof typeof names,
): Promise<string | undefined> {
  const { hold, task } = scene
  const coworker = findCoworker(task.coworkers, input['coworker'] ?? '') as CoworkerDefinition
  const path = attemptPath(slug(coworker.agent.role), 1, call)
  const { state } = hold
  if (!state.attempts.has(path)) {
    const request = requestFor(coworker, state, input, about)
    const pinned = { request: request as unknown as Json, fingerprint: {}, agent: coworker.agent.role }
    await hold.append([{ type: 'task.started', path, ...pinned }])
  }
  const attempt = state.attempts.get(path) as AttemptState
  if (attempt.status === 'completed') return attempt.answer
  // the coworker's own agent and tools, under the task's name: what it does is done for the task
  const within: TaskDefinition = {
    ...task,
    agent: coworker.agent,
    tools: coworker.tools,
    coworkers: [],
    schema: undefined,
  }
  const reply = await executeAttempt(
    { ...scene, task: within, attempt, delegates: new Map() },
    (one) => takeTurn(hold, crew, within, one, scene.options, scene.signal),
    async () => ({
      text: `${coworker.agent.role} came to no end within ${coworker.agent.maxIterations} turns`,
      finish: 'stop',
    }),
  )
  if (!reply) return undefined
  await hold.append([{ type: 'task.completed', path, structured: false, raw: reply.text }])
  return reply.text
}

function requestFor(
  { agent, tools, instructions }: CoworkerDefinition,
  state: RunState,
  input: { readonly [name: string]: string },
  about: keyof typeof names,
): PinnedRequest {
  const text = input[about === 'work' ? 'task' : 'question'] ?? ''
  return {
    instructions: instructions(state.inputs),
    message: about === 'work' ? delegatedMessage(text, input['context']) : questionMessage(text, input['context']),
    tools: tools
      .map(({ name, description, schema }) => ({ name, description, schema: schema.json }))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1)),
    model: modelName(agent.model),
    settings: agent.settings,
  }
}

function delegationTool(name: string, description: string, schema: AnswerSchema): Tool {
  return {
    name,
    description,
    // again is harmless: what was done within is recorded
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
    async parse(value) {
      const { coworker, [what]: text, context = '' } = (value ?? {}) as { [name: string]: unknown }
      const found = typeof coworker === 'string' && findCoworker(coworkers, coworker)
      if (!found) return { ok: false, reason: `coworker: there is ${roles.join(', ')}` }
      if (typeof text !== 'string' || text.trim() === '') return { ok: false, reason: `${what}: say what it is` }
      return { ok: true, value: { coworker: found.agent.role, [what]: text, context: String(context) } }
    },
  }
}

/** Models do not always spell a role as it was given. */
function findCoworker(coworkers: readonly CoworkerDefinition[], role: string): CoworkerDefinition | undefined {
  return (
    coworkers.find(({ agent }) => agent.role === role) ?? coworkers.find(({ agent }) => slug(agent.role) === slug(role))
  )
}

/** A role as it can stand in a path. */
function slug(role: string): string {
  return (
    role
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
      .replaceAll(/^-|-$/g, '') || 'coworker'
  )
}
