// An agent that hands work to others, or asks them. To the model these are two tools; to the journal the work is an attempt within the
// call (`note#1/3.0/analyst#1`), recorded step by step, so that a run that is killed inside of it is resumed inside of it.
import { RepriseError } from '../../errors.ts'
import type { NewEntry, PinnedRequest } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath } from '../../journal/paths.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import type { Tool } from '../../tools/tool.ts'
import { refusals, sentBack } from './attempts.ts'
import { deadline, unlessAborted } from '../limits/deadline.ts'
import type { CoworkerDefinition, CrewDefinition, Inputs, TaskDefinition } from '../definition.ts'
import { executeAttempt, takeTurn } from './execute-task.ts'
import type { Hold } from '../lease/hold.ts'
import { judge, type Judged } from '../judge/judge.ts'
import { toolDefinitions } from '../talk/pin.ts'
import { delegatedMessage, questionMessage } from '../talk/engine-prompts.ts'
import { takeTurnInWindow } from '../talk/summarise.ts'
import type { CallScene, Delegate } from '../calls/tool-calls.ts'

const names = { work: 'delegate_work', question: 'ask_coworker' } as const
/** An agent that hands work on has these beside its own. */
export const delegationTools: readonly string[] = Object.values(names)

/** The task with the tools that its agent hands work on by. */
export function withDelegation(task: TaskDefinition, inputs: Inputs): TaskDefinition {
  if (task.coworkers.length === 0) return task
  const coworkers = task.coworkers.map((coworker) => titled(coworker, inputs))
  const there = coworkers.map(({ agent, goal }) => `${agent.role} (${goal(inputs)})`).join('; ')
  const described = (what: string): string => `${what} Coworkers: ${there}`
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

/** By the name that others know it by in this run. */
function titled(coworker: CoworkerDefinition, inputs: Inputs): CoworkerDefinition {
  const { agent, goal, tools, guardrails, instructions } = coworker
  return {
    agent: { ...agent, role: agent.title(inputs) },
    goal,
    tools,
    guardrails,
    instructions,
    // made when they are asked for, as they are there
    get coworkers() {
      return coworker.coworkers
    },
  }
}

/** What the calls of these tools do. Undefined where a question is open within. */
export function delegatesOf(crew: CrewDefinition, scene: CallScene): ReadonlyMap<string, Delegate> {
  if (scene.task.coworkers.length === 0) return new Map()
  const to = (about: keyof typeof names): [string, Delegate] => [
    names[about],
    (path, input) => executeWithin(crew, scene, path, input as Handed, about),
  ]
  return new Map([to('work'), to('question')])
}

type Handed = { readonly [name: string]: string }

async function executeWithin(
  crew: CrewDefinition,
  scene: CallScene,
  call: string,
  input: Handed,
  about: keyof typeof names,
): Promise<string | undefined> {
  const { hold } = scene
  const coworker = findCoworker(scene.task.coworkers, input['coworker'] ?? '') as CoworkerDefinition
  const { role, maxSeconds } = coworker.agent
  using time = deadline(maxSeconds, scene.signal)
  try {
    return await work(crew, { ...scene, signal: time.signal }, coworker, call, input, about)
  } catch (error) {
    const path = newestPath(hold.state, call, role)
    const isOpen = hold.state.attempts.get(path)?.status === 'open'
    // a person's word, for one, fails the task as a whole
    const failedAlready = RepriseError.isInstance(error) && error.task === scene.task.name
    if (!time.over || scene.signal.aborted || failedAlready || !isOpen) throw error
    const message = `${role} did not finish within ${maxSeconds} s`
    // who handed the work on is told, and may do without
    await hold.append([{ type: 'task.failed', path, error: { code: 'TIME_EXHAUSTED', message } }])
    return message
  }
}

async function work(
  crew: CrewDefinition,
  scene: CallScene,
  coworker: CoworkerDefinition,
  call: string,
  input: Handed,
  about: keyof typeof names,
): Promise<string | undefined> {
  const { hold, options, signal } = scene
  const task = taskWithin(scene.task, coworker, hold.state.inputs)
  const { role, maxIterations } = coworker.agent
  const take = (of: AttemptState): Promise<void> => takeTurn(hold, crew, task, of, options, signal)
  const turn = (of: AttemptState): Promise<void> => takeTurnInWindow({ hold, task, take }, of)
  for (;;) {
    const attempt = await attemptWithin(hold, call, role, () => requestFor(coworker, task, hold.state, input, about))
    if (attempt.status === 'completed') return attempt.answer
    if (attempt.status === 'failed') return attempt.refusal
    const within = { ...scene, task, attempt, delegates: new Map() }
    let endless = false
    const reply = await executeAttempt({ ...within, delegates: delegatesOf(crew, within) }, turn, async () => {
      endless = true
      return { text: `${role} came to no end within ${maxIterations} turns`, finish: 'stop' }
    })
    if (!reply) return undefined
    const judging = { hold, task, attempt, options, signal, turn }
    const judged: Judged = endless
      ? { is: 'accepted', raw: reply.text, entries: [] }
      : await unlessAborted(judge(judging, reply.text, reply.finish), signal)
    const { path } = attempt
    if (judged.is === 'accepted') {
      await hold.append([...judged.entries, { type: 'task.completed', path, structured: false, raw: judged.raw }])
    } else if (judged.is === 'refused') {
      const { by: guardrail, reason } = judged
      const refusal: NewEntry = { type: 'guardrail.judged', path, guardrail, verdict: 'refused', reason }
      const tries = refusals(hold.state, attempt) + 1
      const message = `${role} gave no acceptable answer in ${tries === 1 ? 'one try' : `${tries} tries`}: ${reason}`
      const failed: NewEntry = { type: 'task.failed', path, error: { code: 'OUTPUT_REFUSED', message } }
      // who handed the work on is told, and may do without
      await hold.append([...judged.entries, refusal, ...(tries > task.retries ? [failed] : [])])
    } else return undefined
  }
}

/** The coworker's own agent, tools and guardrails under the task's name: what it does is done for the task. */
function taskWithin(task: TaskDefinition, coworker: CoworkerDefinition, inputs: Inputs): TaskDefinition {
  const { agent, tools, guardrails, coworkers } = coworker
  return withDelegation({ ...task, agent, tools, guardrails, coworkers, schema: undefined, humanInput: false }, inputs)
}

/** The newest attempt at what was handed on, or one that carries on what was sent back. */
async function attemptWithin(
  hold: Hold,
  call: string,
  agent: string,
  make: () => PinnedRequest,
): Promise<AttemptState> {
  const { attempts } = hold.state
  const newest = newestPath(hold.state, call, agent)
  const last = attempts.get(newest)
  if (last && last.status !== 'refused') return last
  const path = last ? attemptPath(slug(agent), attemptNumber(newest) + 1, call) : newest
  const request = (last?.pinned ?? make()) as unknown as Json
  const carries = last ? { carries: { path: last.path, message: sentBack(last) } } : {}
  await hold.append([{ type: 'task.started', path, request, fingerprint: {}, agent, ...carries }])
  return attempts.get(path) as AttemptState
}

/** Of the newest attempt at what was handed on, or of the first, which is still to be made. */
function newestPath({ attempts }: RunState, call: string, agent: string): string {
  const pathOf = (number: number): string => attemptPath(slug(agent), number, call)
  let number = 1
  while (attempts.has(pathOf(number + 1))) number += 1
  return pathOf(number)
}

function requestFor(
  { agent, instructions }: CoworkerDefinition,
  { tools }: TaskDefinition,
  state: RunState,
  input: Handed,
  about: keyof typeof names,
): PinnedRequest {
  const text = input[about === 'work' ? 'task' : 'question'] ?? ''
  return {
    instructions: instructions(state.inputs),
    message: [about === 'work' ? delegatedMessage(text, input['context']) : questionMessage(text, input['context'])],
    tools: toolDefinitions(tools),
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
