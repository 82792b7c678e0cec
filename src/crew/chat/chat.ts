// chat: conversations with an agent, a crew or a flow. A chat is a flow, so that workers, the command line and the
// studio execute and show its runs like those of any other.
import { checkKeys, describe, flag, optional, whole, wrong } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { pathSafe } from '../../engine/task/kickoff-child.ts'
import type { LanguageModel } from '../../models/resolve/resolve-model.ts'
import type { Store } from '../../stores/store.ts'
import type { Tools } from '../../tools/tool.ts'
import { agentCrew } from '../agent-crew.ts'
import type { Agent } from '../agent.ts'
import { Crew } from '../crew.ts'
import { Flow } from '../flow/flow.ts'
import type { FlowRun } from '../flow/flow-types.ts'
import { isAgent } from '../options/crew-checks.ts'
import type { CrewOptions, HiddenCrewOptions } from '../options/crew-options.ts'
import type { FlowOptions } from '../options/flow-options.ts'
import type { Dispatcher } from '../queue/dispatcher.ts'
import { Conversation } from './conversation.ts'
import { converse, inputsOfTurn, type Answerer } from './converse.ts'

type SharedOption =
  | 'store'
  | 'verbose'
  | 'logger'
  | 'version'
  | 'accepts'
  | 'retries'
  | 'budget'
  | 'maxRpm'
  | 'maxRuns'
  | 'dispatcher'
  | 'prices'
  | 'telemetry'

const sharedKeys: readonly SharedOption[] = [
  'store',
  'verbose',
  'logger',
  'version',
  'accepts',
  'retries',
  'budget',
  'maxRpm',
  'maxRuns',
  'dispatcher',
  'prices',
  'telemetry',
]

export interface ChatOptions extends Pick<CrewOptions, SharedOption> {
  /** Name of the chat, by which its conversations are found. Default: `chat` and the role or name of who answers. */
  readonly name?: string
  /**
   * Whether workers execute the turns. Then `send` only delivers the message and waits for the answer. Default: false,
   * which executes turns in the process that sends.
   */
  readonly workers?: boolean
  /** After how many turns a conversation continues as another run: long journals take long to read. Default: 100. */
  readonly turnsPerRun?: number
}

interface ChatSettings {
  readonly workers: boolean
  readonly turnsPerRun: number
}

type AnyFlowOptions = FlowOptions<never, never, never, unknown, never>

/** Conversations with an agent, a crew or a flow. A chat is a flow: `startWorker({ crews: [chat] })`. */
export class Chat extends Flow {
  readonly #answerer: Answerer
  readonly #settings: ChatSettings

  constructor(answerer: Answerer, settings: ChatSettings, options: Omit<AnyFlowOptions, 'run'>) {
    const hidden: HiddenCrewOptions = { '~chat': true }
    super({ ...options, ...hidden, run: (flow: FlowRun) => converse(flow, answerer, settings.turnsPerRun) })
    this.#answerer = answerer
    this.#settings = settings
  }

  /** Whether turns are left to workers. */
  get workers(): boolean {
    return this.#settings.workers
  }

  /** Returns the handle of a conversation. Reads nothing. Throws OPTION_INVALID if the id is invalid. */
  conversation(id: string): Conversation {
    return new Conversation(this, id)
  }

  override with(changes: {
    readonly model?: LanguageModel | string
    readonly store?: string | Store
    readonly tools?: Tools
    readonly dispatcher?: Dispatcher
  }): Chat {
    return super.with(changes) as Chat
  }

  override '~copy'(options: object): Chat {
    return new Chat(this.#answerer, this.#settings, options as AnyFlowOptions)
  }
}

/**
 * Creates a chat: conversations of any number of turns, in which an agent, a crew or a flow answers. A crew or a flow
 * receives the inputs `message` and `history`, as far as it uses them. Throws OPTION_INVALID or OPTION_UNKNOWN.
 */
export function chat(answerer: Agent | Pick<Crew, 'name' | 'tasks' | 'kickoff'>, options: ChatOptions = {}): Chat {
  checkKeys('chat', options, ['name', 'workers', 'turnsPerRun', ...sharedKeys])
  const { name, workers, turnsPerRun, ...shared } = options
  const [who, title] = readAnswerer(answerer)
  const settings = {
    workers: optional('workers', workers, flag) ?? false,
    turnsPerRun: optional('turnsPerRun', turnsPerRun, whole(1, 10_000)) ?? 100,
  }
  return new Chat(who, settings, { ...shared, name: name ?? `chat ${pathSafe(title)}` })
}

function readAnswerer(answerer: unknown): [answerer: Answerer, title: string] {
  if (isAgent(answerer)) {
    const inputs = agentCrew(answerer).inputs.filter((input) => input !== 'prompt')
    if (inputs.length === 0) return [{ type: 'agent', agent: answerer }, answerer.role]
    const words = `the texts of agent ${answerer.role} use {${inputs.join('}, {')}}, but a conversation has no inputs; write the values into the texts`
    throw new RepriseError('OPTION_INVALID', words)
  }
  if (!Crew.isInstance(answerer)) throw wrong('the answerer of a chat', answerer, 'an agent, a crew or a flow')
  const inputs = inputsOfTurn(answerer)
  if (inputs.includes('message')) return [{ type: 'crew', crew: answerer, inputs }, answerer.name]
  const words = `crew ${answerer.name} uses the inputs ${describe(inputs.join(', '))}; to answer messages, it must use an input named message`
  throw new RepriseError('OPTION_INVALID', words)
}
