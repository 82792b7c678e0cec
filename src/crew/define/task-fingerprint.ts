// The fingerprint of a task: one digest for each field that its result depends on. docs/explanation/stale.md lists the
// options that are part of it, and explains why the others are not.
import type { Inputs, AgentDefinition, CoworkerDefinition, Outputs } from '../../engine/definition.ts'
import { digest } from '../../journal/hash.ts'
import type { Fingerprint } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { missingOutputs } from '../../engine/run/task-context.ts'
import { filesIn } from '../../journal/files.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { Tool } from '../../tools/tool.ts'
import type { AgentSettings } from '../options/agent-options.ts'
import { coworkerIdentity, toolIdentity } from './define-agent.ts'
import { guardrailIdentity, type Guardrail } from '../guardrails.ts'
import type { Task } from '../task.ts'

export type Field = readonly [name: string, value: Json]

/**
 * Digests fields by name. Fields with the same name share one digest, in their order: two coworkers may have the same
 * role.
 */
export function digestFields(fields: readonly Field[]): Fingerprint {
  const byName = Map.groupBy(fields, ([name]) => name)
  return Object.fromEntries(
    [...byName].map(([name, [[, first] = [name, null], ...more]]) => {
      const value: Json = more.length > 0 ? { all: [first, ...more.map(([, other]) => other)] } : first
      return [name, digest(value)]
    }),
  )
}

/** Returns a list with the field, or an empty list if the value is undefined or false. */
export function field(name: string, value: Json | undefined | false): Field[] {
  return value === undefined || value === false ? [] : [[name, value]]
}

/** Returns the fields of the named inputs. Default: all inputs. */
export function inputFields(inputs: Inputs, names: readonly string[] = Object.keys(inputs)): Field[] {
  return names.map((name) => [`input:${name}`, Object.hasOwn(inputs, name) ? (inputs[name] as Json) : null])
}

interface AgentTask {
  readonly task: Task
  readonly agent: AgentDefinition
  readonly texts: { readonly [name: string]: string }
  /** Names of the inputs used in texts, including those of coworkers. */
  readonly used: readonly string[]
  readonly tools: readonly Tool[]
  /** Agents to which the agent may delegate. */
  readonly coworkers: readonly CoworkerDefinition[]
  /** Coworkers of all levels. */
  readonly helpers: readonly CoworkerDefinition[]
  /** The task's guardrails, then the agent's. */
  readonly guardrails: readonly Guardrail<never>[]
  readonly context: readonly string[]
}

/**
 * Returns the fingerprint function of an agent task. What the code declares is digested once: only inputs and outputs
 * differ between runs.
 */
export function agentTaskFingerprint(agentTask: AgentTask): (inputs: Inputs, outputs: Outputs) => Fingerprint {
  let declared: Fingerprint | undefined
  return (inputs, outputs) => {
    declared ??= digestFields(declaredFields(agentTask))
    return { ...declared, ...digestFields(fieldsOfRun(agentTask, inputs, outputs)) }
  }
}

function declaredFields({ task, agent: definition, texts, tools, coworkers, helpers, guardrails }: AgentTask): Field[] {
  const roles = [coworkers, helpers].map((list) => list.map(({ agent }) => agent.role))
  return [
    ...Object.entries(texts).map(([name, text]): Field => [textField(name), text]),
    ['model', modelName(definition.model)],
    ['settings', definition.settings],
    ...field('date', dateField(definition)),
    ...tools.map((tool): Field => [`tool:${tool.name}`, toolIdentity(tool)]),
    // prompts list them in this order
    ...field('coworkers', coworkers.length > 0 && roles),
    ...helpers.map((helper): Field => [`coworker:${helper.agent.role}`, coworkerIdentity(helper)]),
    ...field('markdown', task.markdown),
    ...field('guardrails', guardrails.length > 0 && guardrails.map(guardrailIdentity)),
    ...field('human input', task.humanInput),
    ...field('output schema', task.schema?.json),
    ...field('version', task.version),
  ]
}

function fieldsOfRun(agentTask: AgentTask, inputs: Inputs, outputs: Outputs): Field[] {
  const { used, context } = agentTask
  const contextOutputs = contextTexts(context, outputs)
  const missing = missingOutputs(context, outputs)
  const visibleToCode = Object.keys(inputs).filter((name) => isVisibleToCode(agentTask, inputs[name]))
  return [
    ...inputFields(inputs, [...new Set([...used, ...visibleToCode])]),
    ['context', contextOutputs.map(([name]) => name)],
    ...field('missing context', missing.length > 0 && missing),
    ...contextOutputs.map(([name, text]): Field => [`context:${name}`, text]),
  ]
}

/** Returns the date format, if the prompt contains the date. The date itself makes no output stale. */
function dateField({ identity }: AgentDefinition): string | false {
  const { injectDate, dateFormat } = identity as AgentSettings
  return injectDate && dateFormat
}

/** Returns the outputs of context tasks as text, which is how models receive them. */
export function contextTexts(context: readonly string[], outputs: Outputs): [task: string, text: string][] {
  return context.flatMap((name): [string, string][] => {
    const output = outputs.get(name)
    return output ? [[name, output.raw]] : []
  })
}

/**
 * Whether code may see an input that no text uses: guardrail functions receive all inputs, and tools can read all
 * files.
 */
function isVisibleToCode({ guardrails, tools, helpers }: AgentTask, input: Json | undefined): boolean {
  const all = [...guardrails, ...helpers.flatMap(({ agent }) => (agent.identity as AgentSettings).guardrails)]
  if (all.some((guardrail) => typeof guardrail === 'function')) return true
  return [...tools, ...helpers.flatMap((helper) => helper.tools)].length > 0 && filesIn(input).length > 0
}

/** The fingerprint field of a text. */
export function textField(name: string): string {
  return name === 'role' || name === 'goal' || name === 'backstory' ? `agent ${name}` : name
}
