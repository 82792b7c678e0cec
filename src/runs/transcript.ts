// The transcript of a conversation: the turns of all its runs, read in pages from the newest turn back, so that a page
// costs the journals of one or two runs, however long the conversation is.
import { childReader, openTreeQuestions } from '../engine/task/children.ts'
import { readRunChain } from '../read/chain.ts'
import { readRun } from '../read/read-run.ts'
import { lastRun } from '../read/row-summary.ts'
import type { Store } from '../stores/store.ts'
import { answerStep } from './turn-names.ts'
import { readBefore, turnsOf, type Turn } from './turns.ts'

export interface TranscriptTurn extends Omit<Turn, 'error'> {
  /** The step of `run` that answers. Undefined for a message that waits for its turn. */
  readonly step: string | undefined
  /** Why the turn failed. */
  readonly error: string | undefined
  /** The questions that a person has to answer first. Their ids are those of the newest run. */
  readonly questions: readonly { readonly id: string; readonly text: string }[]
}

export interface Transcript {
  /** The id of the conversation: that of its first run. */
  readonly id: string
  /** The newest of its runs, which receives messages. */
  readonly newest: string
  /** Oldest first, and then the messages that wait for their turn. */
  readonly turns: readonly TranscriptTurn[]
  /** If there are earlier turns: to read them, give this as `before`. */
  readonly before: number | undefined
}

export interface TranscriptPage {
  /** Only turns before this one. Default: up to the newest. */
  readonly before?: number | undefined
  /** How many turns. Default: 20. */
  readonly limit?: number | undefined
}

/** Reads the last turns of the conversation that a run is part of. Rejects with RUN_NOT_FOUND. */
export async function readTranscript(
  store: Store,
  run: string,
  { before, limit = 20 }: TranscriptPage = {},
): Promise<Transcript> {
  const newest = await lastRun(store, run)
  const { state } = await readRun(store, newest)
  const [id] = await readRunChain(store, newest)
  const isWanted = ({ turn, run: of }: Turn): boolean =>
    turn === undefined ? before === undefined && of === newest : turn < (before ?? Infinity)
  const found: Turn[] = []
  let earlier: typeof state | undefined = state
  while (earlier && found.length <= limit) {
    found.unshift(...turnsOf(earlier).filter(isWanted))
    earlier = await readBefore(store, earlier)
  }
  const shown = found.slice(-limit)
  const questions = await openTreeQuestions(state, childReader(store))
  return {
    id,
    newest,
    turns: shown.map(({ error, ...turn }) => {
      const step = turn.turn === undefined ? undefined : answerStep(turn.turn)
      const asked = turn.status === 'waiting' ? questions.filter(({ asking }) => asking[0]?.task === step) : []
      return {
        ...turn,
        step,
        error: error?.facts,
        questions: asked.map(({ id: question, text }) => ({ id: question, text })),
      }
    }),
    before: found.length > shown.length ? shown.find(({ turn }) => turn !== undefined)?.turn : undefined,
  }
}
