// Texts that are stored piece by piece: an output of the run that stands in them is referred to, not written again. Free of Node, for the page.
import type { OutputReference, PinnedRequest, PinnedText } from './entries.ts'
import type { SentRequest } from './state/state.ts'

type Outputs = ReadonlyMap<number, string>

/** The text as it was sent. What a person removed from the journal is named in its place. */
export function renderText(pieces: PinnedText, outputs: Outputs): string {
  return pieces
    .map((piece) =>
      typeof piece === 'string' ? piece : (outputs.get(piece.output) ?? `[entry ${piece.output}, removed]`),
    )
    .join('')
}

export function referencesIn(pieces: PinnedText): OutputReference[] {
  return pieces.filter((piece) => typeof piece !== 'string')
}

/** The message is put together when it is asked for: every task may hold the outputs of all before it. */
export function sentRequest(pinned: PinnedRequest, outputs: Outputs): SentRequest {
  return {
    ...pinned,
    get message() {
      return renderText(pinned.message, outputs)
    },
  }
}
