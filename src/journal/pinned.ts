// Pinned texts: an output of the run that occurs in a prompt is referred to instead of written again. Free of Node, for
// the page.
import type { OutputReference, PinnedRequest, PinnedText } from './entries.ts'
import type { SentRequest } from './state/state.ts'

type Outputs = ReadonlyMap<number, string>

/** The text as it was sent. An output that a person removed from the journal is marked as removed. */
export function renderText(pieces: PinnedText, outputs: Outputs): string {
  return pieces
    .map((piece) =>
      typeof piece === 'string' ? piece : (outputs.get(piece.output) ?? `[entry ${piece.output}, removed]`),
    )
    .join('')
}

export function outputReferences(pieces: PinnedText): OutputReference[] {
  return pieces.filter((piece) => typeof piece !== 'string')
}

/** The message is built on demand: each task may contain the outputs of all tasks before it. */
export function sentRequest(pinned: PinnedRequest, outputs: Outputs): SentRequest {
  return {
    ...pinned,
    get message() {
      return renderText(pinned.message, outputs)
    },
  }
}
