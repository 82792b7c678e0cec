// Builds the engine's definition of tasks: assigns agents, resolves contexts, renders texts, computes fingerprints. A
// crew that cannot work is refused here, when it is constructed.
import type { TaskDefinition, CrewDefinition } from '../../engine/definition.ts'
import { missingOutputs } from '../../engine/run/task-context.ts'
import { RepriseError } from '../../base/errors.ts'
import { filesIn } from '../../journal/files.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { ownMember, nearest } from '../../base/options.ts'
import type { Tool } from '../../tools/tool.ts'
import type { Agent } from '../agent.ts'
import { agentTaskFingerprint, contextTexts } from './task-fingerprint.ts'
import {
  agentInstructions,
  agentTexts,
  checkDelegates,
  defineAgent,
  defineCoworkers,
  everyCoworker,
  replacedTools,
  interpolate,
  messageFor,
} from './define-agent.ts'
import { defineChild, defineWork, parsingIdentity, sharedFields } from './define-work.ts'
import { defineGuardrail } from '../guardrails.ts'
import { fileInEveryRun } from './output-path.ts'
import { placeholders } from '../../text/fill-in.ts'
import type { Task } from '../task.ts'

/** Replacements from `crew.with`. */
export interface Overrides {
  readonly model?: LanguageModel | string | undefined
  /** By tool name. */
  readonly tools?: ReadonlyMap<string, Tool> | undefined
}

export function defineTasks(
  tasks: readonly Task[],
  agents: readonly Agent[],
  overrides: Overrides,
  manager?: Agent,
): TaskDefinition[] {
  if (tasks.length === 0) throw new RepriseError('CREW_INVALID', 'the crew has no tasks; give at least one')
  checkEarlierNames(tasks)
  const earlier = new Map<string, Task>()
  const ids = new Set<string>()
  /** By output file. */
  const writers = new Map<string, Task>()
  const made: TaskDefinition[] = []
  const places = new Map<string, number>()
  for (const task of tasks) {
    if (ids.has(task.id) || earlier.has(task.name)) {
      const same = task.named ? `the name ${task.name}` : 'the same texts and no name'
      throw new RepriseError(
        'CREW_INVALID',
        `two tasks of the crew have ${same}; the name is a task's identity, so give each its own`,
      )
    }
    const file = fileInEveryRun(task)
    const rival = file === undefined ? undefined : writers.get(file)
    if (rival) {
      const words = `tasks ${rival.name} and ${task.name} both write ${task.outputFile}, so one would overwrite the other; give each its own outputFile`
      throw new RepriseError('CREW_INVALID', words)
    }
    const context = resolveContext(task, tasks, earlier)
    // functions see the context in crew order
    const given = [...new Set(context)]
      .map((name) => places.get(name) as number)
      .toSorted((a, b) => a - b)
      .map((place) => made[place] as TaskDefinition)
    const definition = task.code
      ? defineWork(task, { code: task.code }, given)
      : task.child
        ? defineWork(task, { child: defineChild(task, task.child, overrides) }, given)
        : defineTask(task, assign(task, agents, manager), context, overrides)
    earlier.set(task.name, task)
    ids.add(task.id)
    if (file !== undefined) writers.set(file, task)
    places.set(task.name, made.length)
    made.push(definition)
  }
  return made
}

/** A recorded task belongs to one task: no earlier name may be the name, now or earlier, of another task. */
function checkEarlierNames(tasks: readonly Task[]): void {
  const claimed = new Map<string, Task>()
  for (const task of tasks)
    for (const name of task.was) {
      const rival = tasks.find((other) => other.name === name) ?? claimed.get(name)
      if (rival)
        throw new RepriseError(
          'CREW_INVALID',
          `task ${task.name} was ${name}, and so ${rival.name === name ? 'is' : 'was'} task ${rival.name}; remove ${name} from \`was\` of one of them`,
        )
      claimed.set(name, task)
    }
}

interface Assignment {
  readonly agent: Agent
  readonly tools: readonly Tool[]
  /** Agents to which the agent may delegate. */
  readonly coworkers: readonly Agent[]
  /** Agents to which coworkers may delegate further. */
  readonly agents: readonly Agent[]
  /** Tools that replace a coworker's own. */
  readonly lent?: readonly Tool[] | undefined
}

/**
 * A manager has no tools: it delegates each task to the agents, or to the task's own agent, which then gets the task's
 * tools.
 */
function assign(task: Task, agents: readonly Agent[], manager: Agent | undefined): Assignment {
  if (manager)
    return { agent: manager, tools: [], coworkers: task.agent ? [task.agent] : agents, agents, lent: task.tools }
  const agent = resolveAgent(task, agents)
  const coworkers = agent.allowDelegation ? agents.filter((other) => other !== agent) : []
  return { agent, tools: task.tools ?? agent.tools, coworkers, agents }
}

function resolveAgent(task: Task, agents: readonly Agent[]): Agent {
  const agent = task.agent ?? (agents.length === 1 ? agents[0] : undefined)
  if (agent) return agent
  const have = agents.length === 0 ? 'no agents' : `${agents.length} agents`
  throw new RepriseError('CREW_INVALID', `task ${task.name} has no agent and the crew has ${have}; give the task one`)
}

function resolveContext(task: Task, tasks: readonly Task[], earlier: ReadonlyMap<string, Task>): string[] {
  if (!task.context) return [...earlier.keys()]
  return task.context.map((other) => {
    if (earlier.get(other.name) === other) return other.name
    const twin = tasks.some((one) => one.name === other.name)
    const why = tasks.includes(other)
      ? 'which does not come before it'
      : twin
        ? 'but not the object that is in the crew: create the task once, and use it in both places'
        : 'which is not in the crew'
    throw new RepriseError(
      'CREW_INVALID',
      `task ${task.name} has ${other.name} in its context, ${why}; a task sees only earlier ones`,
    )
  })
}

function defineTask(task: Task, doers: Assignment, context: readonly string[], overrides: Overrides): TaskDefinition {
  const { agent, agents, lent } = doers
  const tools = replacedTools(doers.tools, overrides)
  const coworkers = defineCoworkers(doers.coworkers, [agent], {
    task: task.name,
    agents,
    toolsOverride: lent,
    overrides,
  })
  if (coworkers.length > 0) checkDelegates(task.name, agent, tools)
  const helpers = everyCoworker(coworkers)
  const doer = defineAgent(agent, overrides)
  const guardrails = [...task.guardrails, ...agent.guardrails]
  const texts = taskTexts(task, agent)
  const others = helpers.flatMap((helper) => Object.values(agentTexts(helper.agent.identity as Agent)))
  const used = [...new Set([...Object.values(texts), ...others].flatMap(placeholders))]
  const made = { task, agent: doer, texts, used, tools, coworkers, helpers, guardrails, context }
  return {
    ...sharedFields(task),
    expectedOutput: task.expectedOutput,
    agent: doer,
    context,
    inputs: [...new Set([...used, ...placeholders(task.outputFile ?? '')])],
    schema: task.schema,
    reading: parsingIdentity(task),
    tools,
    coworkers,
    retries: task.retries,
    code: undefined,
    child: undefined,
    guardrails: guardrails.map((guardrail, index) => defineGuardrail(guardrail, index, task.name, task.schema)),
    render(inputs, outputs) {
      const text = (name: keyof typeof texts, where: string): string => interpolate(texts[name] ?? '', inputs, where)
      const files = filesIn(used.map((name) => ownMember(inputs, name) ?? null))
      return {
        instructions: agentInstructions(agent, inputs),
        message: messageFor({
          description: text('description', `the description of task ${task.name}`),
          expectedOutput: text('expected output', `the expected output of task ${task.name}`),
          context: contextTexts(context, outputs).map(([name]) => name),
          missing: missingOutputs(context, outputs),
          structured: task.schema !== undefined,
          markdown: task.markdown,
        }),
        ...(files.length > 0 ? { files } : {}),
      }
    },
    // of two agents with the same title, the first one is meant
    turns: (inputs) =>
      new Map(
        [doer, ...helpers.map((helper) => helper.agent)]
          .toReversed()
          .map((one) => [one.title(inputs), one.maxIterations]),
      ),
    fingerprint: agentTaskFingerprint(made),
  }
}

function taskTexts(task: Task, agent: Agent): { [name: string]: string } {
  return {
    description: task.description,
    ...(task.expectedOutput ? { 'expected output': task.expectedOutput } : {}),
    ...agentTexts(agent),
  }
}

/** A symbol, so that users can't pass it as an option. */
const standIns = Symbol('stand-ins')

export function readStandIns(options: object): Overrides {
  return (options as { readonly [standIns]?: Overrides })[standIns] ?? {}
}

/** Adds stand-ins; they win over existing ones. */
export function withStandIns<Options extends object>(options: Options, { model, tools }: Overrides): Options {
  const before = readStandIns(options)
  const all = { model: model ?? before.model, tools: new Map([...(before.tools ?? []), ...(tools ?? [])]) }
  return { ...options, [standIns]: all }
}

/** CREW_INVALID if a stand-in has no tool to replace: otherwise the real tool would be called. */
export function checkStandIns(crew: CrewDefinition, agents: readonly Agent[], tools: readonly Tool[]): void {
  const there = new Set([...agents.flatMap((agent) => agent.tools).map(({ name }) => name), ...crewToolNames(crew)])
  const unknown = tools.find(({ name }) => !there.has(name))
  if (!unknown) return
  const near = nearest(unknown.name, [...there])
  const meant = near === undefined ? '' : `; did you mean ${near}?`
  const names = there.size === 0 ? 'it has none' : `it has ${[...there].join(', ')}`
  throw new RepriseError(
    'CREW_INVALID',
    `crew ${crew.name} has no tool ${JSON.stringify(unknown.name)} to replace${meant} (${names})`,
  )
}

/** Tool names of all tasks, their coworkers, and nested crews. */
function crewToolNames({ tasks }: CrewDefinition): string[] {
  return tasks.flatMap(({ tools, coworkers, child }) => {
    const used = [...tools, ...everyCoworker(coworkers).flatMap((coworker) => coworker.tools)]
    return [...used.map(({ name }) => name), ...(child ? crewToolNames(child.crew) : [])]
  })
}
