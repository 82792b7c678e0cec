// Builds the engine's definitions of tasks: assigns agents, resolves contexts, renders texts, computes fingerprints.
// Called when a crew is constructed: refuses a crew that cannot work.
import type { TaskDefinition, CrewDefinition } from '../../engine/definition.ts'
import { missingOutputs } from '../../engine/run/task-context.ts'
import { RepriseError } from '../../base/errors.ts'
import { filesIn } from '../../journal/files.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import { ownMember, nearest } from '../../base/options.ts'
import type { Tool } from '../../tools/tool.ts'
import type { AgentSettings } from '../options/agent-options.ts'
import { agentTaskFingerprint, contextTexts, textField } from './task-fingerprint.ts'
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
import { checkItemNames, defineForEach } from './define-for-each.ts'
import { defineGuardrail } from '../guardrails.ts'
import { fileInEveryRun } from './output-path.ts'
import { placeholders } from '../../text/fill-in.ts'
import type { Task } from '../task.ts'

/** Stand-ins: the model and the tools that `crew.with` replaces others with. */
export interface Overrides {
  readonly model?: LanguageModel | string | undefined
  /** By tool name. */
  readonly tools?: ReadonlyMap<string, Tool> | undefined
}

export function defineTasks(
  tasks: readonly Task[],
  agents: readonly AgentSettings[],
  overrides: Overrides,
  { process, manager }: { readonly process: CrewDefinition['process']; readonly manager?: AgentSettings | undefined },
): TaskDefinition[] {
  if (tasks.length === 0) throw new RepriseError('CREW_INVALID', 'the crew has no tasks; give at least one')
  checkEarlierNames(tasks)
  checkItemNames(tasks)
  const earlier = new Map<string, Task>()
  const ids = new Set<string>()
  /** Tasks by output file. */
  const writers = new Map<string, Task>()
  const definitions: TaskDefinition[] = []
  const positions = new Map<string, number>()
  for (const task of tasks) {
    if (ids.has(task.id) || earlier.has(task.name)) {
      const shared = task.named ? `the name ${task.name}` : 'the same texts and no name'
      throw new RepriseError(
        'CREW_INVALID',
        `two tasks of the crew have ${shared}; the name is a task's identity, so give each its own`,
      )
    }
    const file = fileInEveryRun(task)
    const other = file === undefined ? undefined : writers.get(file)
    if (other) {
      const words = `tasks ${other.name} and ${task.name} both write ${task.outputFile}, so one would overwrite the other; give each its own outputFile`
      throw new RepriseError('CREW_INVALID', words)
    }
    const context = resolveContext(task, tasks, earlier)
    // functions receive the context in crew order
    const contextDefinitions = [...new Set(context)]
      .map((name) => positions.get(name) as number)
      .toSorted((a, b) => a - b)
      .map((position) => definitions[position] as TaskDefinition)
    const single = task.code
      ? defineWork(task, { code: task.code }, contextDefinitions)
      : task.child
        ? defineWork(task, { child: defineChild(task, task.child, overrides) }, contextDefinitions)
        : defineTask(task, assign(task, agents, manager), context, overrides)
    const waitsFor = definitions.filter(
      ({ name, async }) => context.includes(name) || (process !== 'parallel' && !async),
    )
    const definition = task.forEach ? defineForEach(task, task.forEach, single, waitsFor) : single
    earlier.set(task.name, task)
    ids.add(task.id)
    if (file !== undefined) writers.set(file, task)
    positions.set(task.name, definitions.length)
    definitions.push(definition)
  }
  return definitions
}

/**
 * Checks that no earlier name of a task is the current or an earlier name of another task: recorded work must belong to
 * exactly one task.
 */
function checkEarlierNames(tasks: readonly Task[]): void {
  const claimed = new Map<string, Task>()
  for (const task of tasks)
    for (const name of task.was) {
      const otherTask = tasks.find((other) => other.name === name) ?? claimed.get(name)
      if (otherTask)
        throw new RepriseError(
          'CREW_INVALID',
          otherTask.name === name
            ? `task ${task.name} has the earlier name ${name}, which is now the name of a task; remove it from \`was\``
            : `tasks ${task.name} and ${otherTask.name} have the same earlier name, ${name}; remove it from \`was\` of one of them`,
        )
      claimed.set(name, task)
    }
}

interface Assignment {
  readonly agent: AgentSettings
  readonly tools: readonly Tool[]
  /** Agents to which the agent may delegate. */
  readonly coworkers: readonly AgentSettings[]
  /** Agents to which coworkers may delegate further. */
  readonly agents: readonly AgentSettings[]
  /** Tools that coworkers have instead of their own. */
  readonly coworkerTools?: readonly Tool[] | undefined
}

/**
 * Assigns a task to an agent. A manager has no tools: it delegates the task to the agents of the crew, or only to the
 * agent of the task, which then uses the tools of the task.
 */
function assign(task: Task, agents: readonly AgentSettings[], manager: AgentSettings | undefined): Assignment {
  if (manager)
    return {
      agent: manager,
      tools: [],
      coworkers: task.agent ? [task.agent] : agents,
      agents,
      coworkerTools: task.tools,
    }
  const agent = resolveAgent(task, agents)
  const coworkers = agent.allowDelegation ? agents.filter((other) => other !== agent) : []
  return { agent, tools: task.tools ?? agent.tools, coworkers, agents }
}

function resolveAgent(task: Task, agents: readonly AgentSettings[]): AgentSettings {
  const agent = task.agent ?? (agents.length === 1 ? agents[0] : undefined)
  if (agent) return agent
  const have = agents.length === 0 ? 'no agents' : `${agents.length} agents`
  throw new RepriseError('CREW_INVALID', `task ${task.name} has no agent and the crew has ${have}; give the task one`)
}

function resolveContext(task: Task, tasks: readonly Task[], earlier: ReadonlyMap<string, Task>): string[] {
  if (!task.context) return [...earlier.keys()]
  return task.context.map((other) => {
    if (earlier.get(other.name) === other) return other.name
    const sameName = tasks.some((one) => one.name === other.name)
    const why = tasks.includes(other)
      ? 'which does not come before it'
      : sameName
        ? 'but not the object that is in the crew: create the task once, and use it in both places'
        : 'which is not in the crew'
    throw new RepriseError(
      'CREW_INVALID',
      `task ${task.name} has ${other.name} in its context, ${why}; a task sees only earlier ones`,
    )
  })
}

function defineTask(
  task: Task,
  assignment: Assignment,
  context: readonly string[],
  overrides: Overrides,
): TaskDefinition {
  const { agent, agents, coworkerTools } = assignment
  const tools = replacedTools(assignment.tools, overrides)
  const coworkers = defineCoworkers(assignment.coworkers, [agent], {
    task: task.name,
    agents,
    toolsOverride: coworkerTools,
    overrides,
  })
  if (coworkers.length > 0) checkDelegates(task.name, agent, tools)
  const helpers = everyCoworker(coworkers)
  const agentDefinition = defineAgent(agent, overrides)
  const guardrails = [...task.guardrails, ...agent.guardrails]
  const texts = taskTexts(task, agent)
  const coworkerTexts = helpers.flatMap((helper) => Object.values(agentTexts(helper.agent.identity as AgentSettings)))
  const usedIn = (text: string, name: string): string[] =>
    placeholders(text).filter((input) => !(task.forEach && input === 'item' && !name.startsWith('agent ')))
  const ownTexts = Object.entries(texts).flatMap(([name, text]) => usedIn(text, textField(name)))
  const used = [...new Set([...ownTexts, ...coworkerTexts.flatMap(placeholders)])]
  const fingerprinted = { task, agent: agentDefinition, texts, used, tools, coworkers, helpers, guardrails, context }
  return {
    ...sharedFields(task),
    expectedOutput: task.expectedOutput,
    agent: agentDefinition,
    context,
    inputs: [...new Set([...used, ...usedIn(task.outputFile ?? '', 'output file')])],
    schema: task.schema,
    reading: parsingIdentity(task),
    tools,
    coworkers,
    retries: task.retries,
    code: undefined,
    child: undefined,
    guardrails: guardrails.map((guardrail, index) => defineGuardrail(guardrail, index, task.name, task.schema)),
    render(inputs, outputs, itemText) {
      const text = (name: keyof typeof texts, where: string): string =>
        interpolate(texts[name] ?? '', inputs, where, itemText)
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
    // if two agents have the same title, the first one wins
    turns: (inputs) =>
      new Map(
        [agentDefinition, ...helpers.map((helper) => helper.agent)]
          .toReversed()
          .map((member) => [member.title(inputs), member.maxIterations]),
      ),
    fingerprint: agentTaskFingerprint(fingerprinted),
  }
}

function taskTexts(task: Task, agent: AgentSettings): { [name: string]: string } {
  return {
    description: task.description,
    ...(task.expectedOutput ? { 'expected output': task.expectedOutput } : {}),
    ...agentTexts(agent),
  }
}

/** The crew option that holds stand-ins. A symbol, so that users cannot pass it. */
const standIns = Symbol('stand-ins')

export function readStandIns(options: object): Overrides {
  return (options as { readonly [standIns]?: Overrides })[standIns] ?? {}
}

/** Adds stand-ins to options. They win over earlier ones. */
export function withStandIns<Options extends object>(options: Options, { model, tools }: Overrides): Options {
  const before = readStandIns(options)
  const all = { model: model ?? before.model, tools: new Map([...(before.tools ?? []), ...(tools ?? [])]) }
  return { ...options, [standIns]: all }
}

/**
 * Throws CREW_INVALID if a stand-in has no tool to replace: otherwise the real tool would be called. The tools of a
 * flow are known only when its function uses them.
 */
export function checkStandIns(crew: CrewDefinition, agents: readonly AgentSettings[], tools: readonly Tool[]): void {
  if (crew.flow) return
  const existing = new Set([...agents.flatMap((agent) => agent.tools).map(({ name }) => name), ...crewToolNames(crew)])
  const unknown = tools.find(({ name }) => !existing.has(name))
  if (!unknown) return
  const similar = nearest(unknown.name, [...existing])
  const advice = similar === undefined ? '' : `; did you mean ${similar}?`
  const names = existing.size === 0 ? 'it has none' : `it has ${[...existing].join(', ')}`
  throw new RepriseError(
    'CREW_INVALID',
    `crew ${crew.name} has no tool ${JSON.stringify(unknown.name)} to replace${advice} (${names})`,
  )
}

/** Names of the tools of all tasks, of their coworkers and of nested crews. */
function crewToolNames({ tasks }: CrewDefinition): string[] {
  return tasks.flatMap(({ tools, coworkers, child }) => {
    const used = [...tools, ...everyCoworker(coworkers).flatMap((coworker) => coworker.tools)]
    return [...used.map(({ name }) => name), ...(child ? crewToolNames(child.crew) : [])]
  })
}
