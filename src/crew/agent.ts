// An agent: who does a task, with which model and tools. Made once, never changed.
import { RepriseError } from '../errors.ts'
import { strictJson, type Json } from '../journal/json.ts'
import { checkFlag, checkKeys, checkNumber, checkString, checkText, checkWhole, longestSeconds } from '../options.ts'
import { checkModelKind, type LanguageModel } from '../models/resolve/resolve-model.ts'
import { checkSettings, refuseSecrets, type ModelSettings } from '../models/resolve/settings.ts'
import { toolList, type Tool, type Tools } from '../tools/tool.ts'
import { guardrailList, type Guardrail } from './guardrails.ts'
import type { Placeholders } from './define/placeholders.ts'

export interface AgentOptions<
  Role extends string = string,
  Goal extends string = string,
  Backstory extends string = string,
> {
  readonly role: Role
  readonly goal: Goal
  readonly backstory?: Backstory
  /** An AI SDK language model, or `provider/model`; else REPRISE_MODEL, else the default model. */
  readonly model?: LanguageModel | string
  readonly tools?: Tools
  /** Log every step of its crew, as `verbose` of the crew does. */
  readonly verbose?: boolean
  /** Model calls per attempt at a task; in the last one it must answer. Default 20. */
  readonly maxIterations?: number
  /** Tries after the first one when a model call fails in passing. Default 2. */
  readonly maxRetries?: number
  /** Time for one attempt at a task, in this process; as a coworker, for what it is handed. */
  readonly maxSeconds?: number
  /**
   * When the conversation of an attempt is longer, in tokens as the provider counts or Reprise estimates them, its older part is summarised
   * before the next model call. Without it, that is done only when the provider says that the conversation is too long.
   */
  readonly contextTokens?: number
  /** Requests per minute, in this process. */
  readonly maxRpm?: number
  /** Whether it may hand work to the crew's other agents, and ask them; as a coworker too, up to three deep and to nobody above it. */
  readonly allowDelegation?: boolean
  /** What all answers of this agent must pass: to a task, after the guardrails of that; and as a coworker, where the output is a text. */
  readonly guardrails?: Guardrail | readonly Guardrail[]
  readonly settings?: ModelSettings
}

/** Who does a task. `Inputs` are the names of the placeholders in its texts. */
export interface Agent<out Inputs extends string = string> {
  readonly role: string
  readonly goal: string
  readonly backstory: string | undefined
  readonly model: LanguageModel | string | undefined
  readonly tools: readonly Tool[]
  readonly verbose: boolean
  readonly maxIterations: number
  readonly maxRetries: number
  readonly maxSeconds: number | undefined
  readonly contextTokens: number | undefined
  readonly maxRpm: number | undefined
  readonly allowDelegation: boolean
  readonly guardrails: readonly Guardrail<never>[]
  readonly settings: { readonly [name: string]: Json }
  /** Only a type: nothing is there at run time. */
  readonly '~inputs'?: Inputs
}

export interface AgentConstructor {
  /** CREW_INVALID, OPTION_UNKNOWN: at once, naming what is wrong. */
  new <const Role extends string, const Goal extends string, const Backstory extends string = ''>(
    options: AgentOptions<Role, Goal, Backstory>,
  ): Agent<Placeholders<Role> | Placeholders<Goal> | Placeholders<Backstory>>
}

const keys = [
  'role',
  'goal',
  'backstory',
  'model',
  'tools',
  'verbose',
  'maxIterations',
  'maxRetries',
  'maxSeconds',
  'contextTokens',
  'maxRpm',
  'allowDelegation',
  'guardrails',
  'settings',
]

export const Agent: AgentConstructor = class implements Agent<never> {
  readonly role: string
  readonly goal: string
  readonly backstory: string | undefined
  readonly model: LanguageModel | string | undefined
  readonly tools: readonly Tool[]
  readonly verbose: boolean
  readonly maxIterations: number
  readonly maxRetries: number
  readonly maxSeconds: number | undefined
  readonly contextTokens: number | undefined
  readonly maxRpm: number | undefined
  readonly allowDelegation: boolean
  readonly guardrails: readonly Guardrail<never>[]
  readonly settings: { readonly [name: string]: Json }

  constructor(options: AgentOptions) {
    checkKeys('an agent', options, keys)
    checkText('CREW_INVALID', 'the role of an agent', options.role)
    const what = `agent ${options.role}`
    checkText('CREW_INVALID', `the goal of ${what}`, options.goal)
    checkString('CREW_INVALID', `the backstory of ${what}`, options.backstory)
    const { model, settings = {} } = options
    checkModelKind(`the model of ${what}`, model)
    checkFlag(`verbose of ${what}`, options.verbose)
    checkWhole(`maxIterations of ${what}`, options.maxIterations, 1)
    checkWhole(`maxRetries of ${what}`, options.maxRetries, 0)
    checkNumber(`maxSeconds of ${what}`, options.maxSeconds, 0.001, longestSeconds)
    this.role = options.role
    this.goal = options.goal
    this.backstory = options.backstory
    this.model = model
    this.tools = toolList(options.tools, what)
    this.verbose = options.verbose ?? false
    this.maxIterations = options.maxIterations ?? 20
    this.maxRetries = options.maxRetries ?? 2
    checkWhole(`maxRpm of ${what}`, options.maxRpm, 1, 1_000_000)
    checkWhole(`contextTokens of ${what}`, options.contextTokens, 100, 1_000_000_000)
    this.maxSeconds = options.maxSeconds
    this.contextTokens = options.contextTokens
    this.maxRpm = options.maxRpm
    checkFlag(`allowDelegation of ${what}`, options.allowDelegation)
    this.allowDelegation = options.allowDelegation ?? false
    this.guardrails = guardrailList(what, options.guardrails)
    this.settings = readSettings(what, settings)
    Object.freeze(this)
  }
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

function readSettings(what: string, settings: ModelSettings): { readonly [name: string]: Json } {
  checkSettings(what, settings)
  const json = strictJson(settings, 'settings')
  if (!json.ok)
    throw new RepriseError('OPTION_UNKNOWN', `${json.path} of ${what} is ${json.found}, which JSON does not carry`)
  const read = json.value as { readonly [name: string]: Json }
  refuseSecrets(what, read)
  return read
}
