// Delegation: an agent hands work to coworkers or asks them questions. For the model these are two tools. In the
// journal, the coworker's work is an attempt within the call (`note#1/3.0/analyst#1`), recorded step by step, so that a
// run killed inside it resumes inside it.
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { NewEntry, PinnedRequest } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptNumber, attemptPath } from '../../journal/paths.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { CoworkerDefinition, Inputs, TaskDefinition } from '../definition.ts'
import { judgeOutput, type Verdict } from './judge-output.ts'
import type { Delegate, Life, ActiveAttempt } from '../life.ts'
import { deadline, unlessAborted } from '../limits/time.ts'
import { delegatedMessage, questionMessage } from '../model/engine-prompts.ts'
import { dated, toolDefinitions } from '../model/pin.ts'
import { countRefusals, revisionMessage, triesWord } from '../run/task-context.ts'
import type { AnswerSchema } from '../../schema/answer-schema.ts'
import type { Tool } from '../../tools/tool.ts'

/** Continues the conversation of an attempt to its final answer: `converse` of execute-task.ts. */
type Converse = (
  work: ActiveAttempt,
) => Promise<{ readonly text: string; readonly finish: string } | 'endless' | undefined>

/** Returns the function that executes delegations. It resolves with the coworker's answer, or with what went wrong. */
export function delegateWith(converse: Converse): Delegate {
  return async (work, call, tool, input) => {
    const delegation = readDelegation(work.task, tool, input)
    const { life, task } = work
    const { role, maxSeconds } = delegation.coworker.agent
    using time = deadline(life.engine.world, maxSeconds, work.signal, () => life.engine.store.outageMs())
    try {
      return await workAsCoworker({ ...work, signal: time.signal }, call, delegation, converse)
    } catch (error) {
      const path = newestPath(life.state, call, role)
      const isOpen = life.state.attempts.get(path)?.status === 'open'
      // for example by a person's answer, which fails the whole task
      const failedAlready = RepriseError.isInstance(error) && error.task === task.name
      if (!time.over || work.signal.aborted || failedAlready || !isOpen) throw error
      const message = `${role} did not finish within ${maxSeconds} s`
      await life.append([{ type: 'task.failed', path, error: { code: 'TIME_EXHAUSTED', message } }])
      return message
    }
  }
}

async function workAsCoworker(
  outer: ActiveAttempt,
  call: string,
  delegation: Delegation,
  converse: Converse,
): Promise<string | undefined> {
  const { life } = outer
  const { role, maxIterations } = delegation.coworker.agent
  const task = coworkerTask(outer.task, delegation.coworker, life.state.inputs)
  for (;;) {
    const attempt = await coworkerAttempt(life, call, role, () =>
      coworkerRequest(delegation, task, life.state, life.engine.world.now()),
    )
    if (attempt.status === 'completed') return attempt.answer
    if (attempt.status === 'failed') return attempt.refusal
    const work = { ...outer, task, attempt }
    const answer = await converse(work)
    if (!answer) return undefined
    const judged: Verdict =
      answer === 'endless'
        ? {
            status: 'accepted',
            structured: false,
            raw: `${role} did not finish within ${maxIterations} turns`,
            entries: [],
          }
        : await unlessAborted(judgeOutput(work, answer.text, answer.finish), work.signal)
    const { path } = attempt
    if (judged.status === 'accepted') {
      life.note([...judged.entries, { type: 'task.completed', path, structured: false, raw: judged.raw }])
    } else if (judged.status === 'refused') {
      const { by: guardrail, reason } = judged
      const refusal: NewEntry = { type: 'guardrail.judged', path, guardrail, verdict: 'refused', reason }
      const tries = countRefusals(life.state, attempt) + 1
      const message = `${role} gave no acceptable answer in ${triesWord(tries)}: ${reason}`
      const failed: NewEntry = { type: 'task.failed', path, error: { code: 'OUTPUT_REFUSED', message } }
      await life.append([...judged.entries, refusal, ...(tries > task.retries ? [failed] : [])])
    } else return undefined
  }
}

/** Returns the task as the coworker executes it: with its name, but the coworker's agent, tools and guardrails. */
function coworkerTask(task: TaskDefinition, coworker: CoworkerDefinition, inputs: Inputs): TaskDefinition {
  const { agent, tools, guardrails, coworkers } = coworker
  return withDelegation({ ...task, agent, tools, guardrails, coworkers, schema: undefined, humanInput: false }, inputs)
}

/** Returns the newest attempt at the delegated work, or starts one, at first and after a refused answer. */
async function coworkerAttempt(
  life: Life,
  call: string,
  agent: string,
  make: () => PinnedRequest,
): Promise<AttemptState> {
  const { attempts } = life.state
  const newest = newestPath(life.state, call, agent)
  const last = attempts.get(newest)
  if (last && last.status !== 'refused') return last
  const path = last ? attemptPath(slug(agent), attemptNumber(newest) + 1, call) : newest
  const request = (last?.pinned ?? make()) as unknown as Json
  const carries = last && { path: last.path, message: revisionMessage(last) }
  life.note([{ type: 'task.started', path, request, fingerprint: {}, agent, ...defined({ carries }) }])
  return attempts.get(path) as AttemptState
}

/** Returns the path of the newest attempt at the delegated work; of the first, if there is none yet. */
function newestPath({ attempts }: RunState, call: string, agent: string): string {
  const pathOf = (number: number): string => attemptPath(slug(agent), number, call)
  let number = 1
  while (attempts.has(pathOf(number + 1))) number += 1
  return pathOf(number)
}

function coworkerRequest(
  { coworker, type, text, context }: Delegation,
  { tools }: TaskDefinition,
  state: RunState,
  now: Date,
): PinnedRequest {
  const { agent, instructions } = coworker
  return {
    instructions: dated(instructions(state.inputs), agent, now),
    message: [type === 'work' ? delegatedMessage(text, context) : questionMessage(text, context)],
    tools: toolDefinitions(tools),
    model: modelName(agent.model),
    settings: agent.settings,
  }
}

// The two tools of an agent with coworkers.

const names = { work: 'delegate_work', question: 'ask_coworker' } as const
/** The names of the tools that an agent with coworkers has besides its own. */
export const delegationTools: readonly string[] = Object.values(names)

/** Whether this tool delegates to a coworker. */
export function isDelegation({ coworkers }: TaskDefinition, tool: string): boolean {
  return coworkers.length > 0 && delegationTools.includes(tool)
}

/** What an agent hands to a coworker. */
interface Delegation {
  readonly coworker: CoworkerDefinition
  readonly type: keyof typeof names
  readonly text: string
  readonly context: string | undefined
}

/** Reads the parsed input of a delegation call. */
function readDelegation({ coworkers }: TaskDefinition, tool: string, input: unknown): Delegation {
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

/** Renders the coworker's role with this run's inputs. */
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
    // repeating the call is harmless: the coworker's steps are recorded
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

/** Finds a coworker by its role, also in the variant spellings that models use. */
function findCoworker(coworkers: readonly CoworkerDefinition[], role: string): CoworkerDefinition | undefined {
  return (
    coworkers.find(({ agent }) => agent.role === role) ?? coworkers.find(({ agent }) => slug(agent.role) === slug(role))
  )
}

/** Returns a role in the form used in paths. */
export function slug(role: string): string {
  return (
    role
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}]+/gu, '-')
      .replaceAll(/^-|-$/g, '') || 'coworker'
  )
}
