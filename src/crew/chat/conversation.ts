// The Conversation class: the handle of a conversation, whichever process executes its turns. Creating a handle reads
// nothing. A conversation is the run of a flow and the runs that continue it; its id is that of the first one.
import { checkKeys, defined, describe, number, optional, text, wrong } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Engine } from '../../engine/definition.ts'
import { post } from '../../engine/inbox/inbox.ts'
import { openTreeQuestions } from '../../engine/task/children.ts'
import type { OpenQuestion } from '../../journal/state/open-questions.ts'
import { isEnded, type RunState } from '../../journal/state/state.ts'
import { otherCrewError, readRun, readStateIfExists, runNotFoundError } from '../../read/read-run.ts'
import { checkNewRunId, isWoken, lastRun } from '../../read/row-summary.ts'
import { waitForRun } from '../result/result.ts'
import type { Run } from '../run.ts'
import { engineForTree } from '../open-crew.ts'
import { wakeRun } from '../queue/dispatcher.ts'
import { resumeOrFollow } from '../verbs/resume.ts'
import { readEvent } from '../verbs/send.ts'
import type { Decision, SignedBy } from '../verbs/shared-options.ts'
import type { Chat } from './chat.ts'
import { answerId, answerStep, messageStep } from '../../runs/turn-names.ts'
import { findTurn, inputsOf, readChain, turnsOf, type Turn, type TurnStatus } from '../../runs/turns.ts'

export interface SendMessageOptions extends SignedBy {
  /** Id of the message. Sending it again with the same id returns the answer to the first. Default: a new id. */
  readonly id?: string
  /** Stops waiting for the answer. If this process executes the turn, the turn is suspended. */
  readonly signal?: AbortSignal
}

/** What became of a message. As a string, it is the answer. */
export interface Reply {
  /** The id of the message. */
  readonly id: string
  /** The number of the turn, counted from 1. Undefined if the message waits for an earlier turn. */
  readonly turn: number | undefined
  /** waiting: a person has to answer `questions` first. stopped: by `conversation.stop()`. */
  readonly status: 'answered' | 'waiting' | 'stopped'
  /** The answer. Empty if there is none. */
  readonly text: string
  readonly questions: readonly OpenQuestion[]
  toString(): string
}

/** A message of a conversation. */
export interface ConversationMessage {
  readonly id: string
  readonly role: 'user' | 'assistant'
  readonly text: string
  /** Undefined for a message that waits for its turn. */
  readonly turn: number | undefined
  /** The status of the turn. Only for messages of the person. */
  readonly status?: TurnStatus
  readonly at: Date
}

export interface ForkConversationOptions {
  /** The last turn that the new conversation keeps. */
  readonly turn: number
  /**
   * Id of the new conversation. If there is a conversation with this id, it must be the same fork, and is continued.
   * Default: a new id.
   */
  readonly id?: string
}

/** The handle of a conversation, whichever process executes its turns. Returned by `chat.conversation(id)`. */
export class Conversation {
  readonly id: string
  readonly #chat: Chat

  constructor(chat: Chat, id: string) {
    this.#chat = chat
    this.id = checkNewRunId(id)
  }

  /**
   * Sends a message, and resolves with its answer. The first message starts the conversation. A message that is sent
   * during a turn waits for the end of that turn. The turn is executed here, or followed if another process executes
   * it; with `workers`, it is left to them. Rejects with the error of the turn if it failed: the conversation continues
   * and accepts further messages. Rejects with INPUTS_DIFFER if another message has the same `id`, or with RUN_ENDED if
   * the conversation was cancelled.
   */
  async send(message: string, options: SendMessageOptions = {}): Promise<Reply> {
    const sent = await this['~send'](message, options)
    return this.#settle(sent, options.signal, undefined, message)
  }

  /**
   * Answers a question that a turn waits for, such as the approval of a tool, and resolves with the answer of the turn.
   * Rejects like `answer` of a run.
   */
  async answer(question: string, answer: Decision, options: SignedBy = {}): Promise<Reply> {
    return this.#settle(await this['~answer'](question, answer, options), undefined)
  }

  /** Reads all messages, oldest first. An empty list if the conversation has not begun. */
  async messages(): Promise<ConversationMessage[]> {
    const turns = await this['~turns']()
    return turns.flatMap(({ id, text: said, turn, status, at, answer, answeredAt }): ConversationMessage[] => [
      { id, role: 'user', text: said, turn, status, at: new Date(at) },
      ...(answer === undefined || turn === undefined
        ? []
        : ([{ id: answerId(turn), role: 'assistant', text: answer, turn, at: new Date(answeredAt ?? at) }] as const)),
    ])
  }

  /**
   * Stops the turn in progress, whichever process executes it: model calls and tools are stopped at once, and its
   * message stays without an answer. The conversation goes on. Resolves with false if no turn was in progress, or if it
   * was answered first.
   */
  async stop(options: SignedBy = {}): Promise<boolean> {
    if (!(await (await this.#engine()).store.row(this.id))) return false
    const { state } = await this.#last()
    const turn = turnsOf(state).find(({ status }) => status === 'running' || status === 'waiting')
    if (turn?.turn === undefined) return false
    const id = `stop ${turn.turn}`
    await this.#chat.run(this.id).send('stop', { turn: turn.turn }, { id, ...defined({ by: options.by }) })
    const outcome = await this.#settle(turn.id, undefined).catch(() => undefined)
    return outcome?.status === 'stopped'
  }

  /**
   * Starts a new conversation that has the turns of this one up to `turn`. This one does not change. Rejects with
   * OPTION_INVALID if there is no such turn, with RUN_HELD while a turn is executed.
   */
  async fork(options: ForkConversationOptions): Promise<Conversation> {
    return this.#startFork('fork', options, (turn) => [turn, messageStep(turn + 1)])
  }

  /**
   * Starts a new conversation that has the turns of this one before `turn`, and answers the message of that turn again.
   * This one does not change. Rejects like `fork`.
   */
  async replay(options: ForkConversationOptions): Promise<Conversation> {
    return this.#startFork('replay', options, (turn) => [turn - 1, answerStep(turn)])
  }

  /** Returns the handle of the run that has the newest turn. Rejects with RUN_NOT_FOUND. */
  async run(): Promise<Run> {
    const { state } = await this.#last()
    return this.#chat.run(state.run)
  }

  /** Sends a message without waiting for its answer. Returns its id. */
  async '~send'(given: string, options: SendMessageOptions = {}): Promise<string> {
    checkKeys('send', options, ['id', 'signal', 'by'])
    const { world } = this.#chat['~open']
    const message = { id: optional('id', options.id, text) ?? world.newRunId(), text: text.read('the message', given) }
    const engine = await this.#engine()
    if (!(await engine.store.row(this.id))) await this.#chat.enqueue({ id: this.id })
    const receiver = { ...this.#chat['~open'].definition, run: this.id }
    const event = readEvent(
      receiver,
      'message',
      message,
      {
        id: message.id,
        ...defined({ by: options.by }),
      },
      world.newRunId,
    )
    for (;;) {
      const { state } = await this.#last()
      const known = await findTurn(engine.store, state, message.id)
      if (known) return sameMessage(this.id, known, message.text)
      try {
        // only posted: the next holder of the run records it, which saves reading the journal once more
        await post(engine, state.run, event)
        await wakeRun(this.#chat['~open'], state.run)
        return message.id
      } catch (error) {
        // the run has ended meanwhile, and another one continues it
        if ((await this.#last()).state.run === state.run) throw error
      }
    }
  }

  /** Answers a question without waiting for the answer of the turn. Returns the id of the message of that turn. */
  async '~answer'(question: string, answer: Decision, options: SignedBy = {}): Promise<string> {
    const { state, store } = await this.#last()
    const asked = (await questionsIn(store, state)).find(({ id }) => id === question)
    const turn = turnsOf(state).find(
      ({ turn: count }) => count !== undefined && asked?.asking[0]?.task === answerStep(count),
    )
    // rejects if there is no such question
    await this.#chat.run(state.run).answer(question, answer, options)
    return turn?.id ?? ''
  }

  /**
   * Answers a question of a turn. Ignores a question that was answered before: the page may be outdated, or its request
   * repeated. Returns the id of the turn's message. Undefined if there is no such turn.
   */
  async '~answerIn'(count: number, question: string, answer: Decision): Promise<string | undefined> {
    const turn = (await this['~turns']()).find((one) => one.turn === count)
    if (turn?.status !== 'waiting') return turn?.id
    try {
      await this.#chat.run(turn.run).answer(question, answer)
    } catch (error) {
      if (!RepriseError.isInstance(error) || error.code !== 'QUESTION_ANSWERED') throw error
    }
    return turn.id
  }

  /** Executes or awaits the turn of a message. `onExecuting` is called when this process begins to execute a run. */
  async '~settle'(id: string, onExecuting: (run: string) => void): Promise<Reply> {
    return this.#settle(id, undefined, onExecuting)
  }

  /** All turns, oldest first, and then the messages that wait for their turn. */
  async '~turns'(): Promise<Turn[]> {
    const { store } = await this.#engine()
    const chain = await readChain(store, this.id)
    return chain.flatMap((state, index) =>
      turnsOf(state).filter(({ turn }) => turn !== undefined || index === chain.length - 1),
    )
  }

  /** Looks a message up in the newest run. The turn is undefined while the message is not recorded yet. */
  async '~turn'(id: string): Promise<{ readonly turn: Turn | undefined; readonly state: RunState }> {
    const { state, store } = await this.#last()
    return { turn: await findTurn(store, state, id), state }
  }

  get '~chat'(): Chat {
    return this.#chat
  }

  /** Waits until the run has entries that this state lacks. */
  async '~changed'({ run, seq }: RunState, signal?: AbortSignal): Promise<void> {
    const engine = await this.#engine()
    const look = async (): Promise<true | undefined> => ((await hasMore(engine.store, run, seq)) ? true : undefined)
    await waitForRun(engine, run, look, signal)
  }

  async #engine(): Promise<Engine> {
    return this.#chat['~open'].engine()
  }

  /** The newest run. Rejects with RUN_NOT_FOUND. */
  async #last(known = this.id): Promise<{ readonly state: RunState; readonly store: Engine['store'] }> {
    const { store } = await this.#engine()
    const { state } = await readRun(store, await lastRun(store, known))
    // it was continued while it was read
    if (state.next !== undefined) return this.#last(state.next)
    if (state.crew !== this.#chat.name) throw otherCrewError(state.run, state.crew, this.#chat.name)
    return { state, store }
  }

  /** Executes or awaits the turn of a message, and those before it. */
  async #settle(
    id: string,
    signal: AbortSignal | undefined,
    onExecuting: (run: string) => void = () => {},
    said?: string,
  ): Promise<Reply> {
    const { store } = await this.#engine()
    let state: RunState | undefined
    for (;;) {
      signal?.throwIfAborted()
      state ??= (await this.#last()).state
      const turn = await findTurn(store, state, id)
      // another message with this id may have been sent at the same time, and received instead
      if (turn && said !== undefined) sameMessage(this.id, turn, said)
      if (turn?.status === 'answered' || turn?.status === 'stopped')
        return reply(id, turn.turn, turn.status, turn.answer)
      if (turn?.error) throw turn.error
      if (state.status === 'cancelled') throw conversationEnded(state)
      if (await isAtRest(store, state)) {
        const questions = await questionsIn(store, state)
        if (questions.length > 0) return reply(id, turn?.turn, 'waiting', '', questions)
        if (this.#chat.workers) throw notContinued(state)
      }
      if (this.#chat.workers) await this['~changed'](state, signal)
      state = this.#chat.workers ? undefined : await this.#execute(state.run, signal, onExecuting)
    }
  }

  /**
   * Executes the run until it rests, or waits until another process has. Returns its state if it was executed here and
   * no other run continues it.
   */
  async #execute(
    run: string,
    signal: AbortSignal | undefined,
    onExecuting: (run: string) => void,
  ): Promise<RunState | undefined> {
    const open = this.#chat['~open']
    const engine = engineForTree(await open.engine())
    const { here, result } = await resumeOrFollow(open, engine, run, {
      choices: defined({ signal }),
      whenHeld: 'follow',
    })
    if (here) onExecuting(run)
    await result
    return here?.state.next === undefined ? here?.state : undefined
  }

  async #startFork(
    verb: string,
    options: ForkConversationOptions,
    place: (turn: number) => [kept: number, from: string],
  ): Promise<Conversation> {
    checkKeys(verb, options, ['turn', 'id'])
    const turn = number(1).read('turn', options.turn)
    const [kept, from] = place(turn)
    const { store } = await this.#engine()
    const chain = await readChain(store, this.id)
    if (chain.length === 0) throw runNotFoundError(store, this.id)
    const base = chain.findLast((state) => (inputsOf(state).turns ?? 0) <= kept)
    if (!base?.tasks.has(from)) {
      const count = chain.flatMap(turnsOf).filter(({ turn: begun }) => begun !== undefined).length
      throw wrong('turn', turn, `a turn of conversation ${this.id} that is over; it has ${count} turns`)
    }
    const { id } = options
    const forked = this.#chat.fork({ runId: base.run, from, ...defined({ id }) })
    const run = await forked.started
    await forked
    return new Conversation(this.#chat, run.id)
  }
}

function reply(
  id: string,
  turn: number | undefined,
  status: Reply['status'],
  answer = '',
  questions: readonly OpenQuestion[] = [],
): Reply {
  return { id, turn, status, text: answer, questions, toString: () => answer }
}

/** Whether the run waits, and nothing that it waits for has arrived. */
async function isAtRest(store: Engine['store'], state: RunState): Promise<boolean> {
  if (state.status !== 'suspended' && !isEnded(state.status)) return false
  if (isWoken(state) || (await store.inbox(state.run)).length > 0) return false
  // a message may have left the inbox for the journal after the state was read
  return !(await hasMore(store, state.run, state.seq))
}

async function hasMore(store: Engine['store'], run: string, after: number): Promise<boolean> {
  for await (const _ of store.read(run, after)) return true
  return false
}

function questionsIn(store: Engine['store'], state: RunState): Promise<OpenQuestion[]> {
  return openTreeQuestions(state, (run) => readStateIfExists(store, run))
}

function sameMessage(conversation: string, { id, text: before }: Turn, now: string): string {
  if (before === now) return id
  const words = `message ${describe(id)} of conversation ${conversation} was sent before with another text; give the new message another id`
  throw new RepriseError('INPUTS_DIFFER', words, { runId: conversation })
}

function conversationEnded({ run }: RunState): RepriseError {
  return new RepriseError('RUN_ENDED', `conversation ${run} was cancelled`, {
    runId: run,
    next: { type: 'show', runId: run },
  })
}

function notContinued({ run, suspended }: RunState): RepriseError {
  const words = `run ${run} is suspended (${suspended?.reason ?? 'unknown'}), so no worker continues it`
  return new RepriseError('RUN_ABANDONED', words, { runId: run, next: { type: 'resume', runId: run } })
}
