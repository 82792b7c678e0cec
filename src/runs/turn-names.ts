// Names in conversations. Needs nothing else, since pages in browsers import it, too.

/** The step that waits for the message of a turn. `copy`: 1, plus the repeated messages skipped before. */
export function messageStep(turn: number, copy = 1): string {
  return `message[${copy === 1 ? turn : `${turn}+${copy - 1}`}]`
}

/** The step that answers the message of a turn. */
export function answerStep(turn: number): string {
  return `answer[${turn}]`
}

/** The id of an answer among the messages. */
export function answerId(turn: number): string {
  return `answer-${turn}`
}

/** The turn of the answer with this id. Undefined for other ids. */
export function turnOfAnswer(id: string): number | undefined {
  const [, turn] = /^answer-(\d+)$/.exec(id) ?? []
  return turn === undefined ? undefined : Number(turn)
}

/** The name of the error that marks a turn as stopped. */
export const stoppedName = 'AbortError'
