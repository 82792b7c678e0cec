// Runs for clients of the AG-UI protocol: CopilotKit and others.
import type { Run } from '../../crew/run.ts'
import { responseHeaders, type ResponseOptions } from '../../crew/result/event-stream.ts'
import { anyText, wrong, checkKeys } from '../../base/options.ts'
import type { AgUiEvent, AgUiInput } from './ag-ui-events.ts'
import { agUiWriter } from './ag-ui-writer.ts'
import { readExpose, type Exposure } from '../expose.ts'
import { createNarration } from '../narration.ts'
import { piecesResponse, type UIStreamOptions } from '../chat/ui-stream.ts'
import { followRun, streamOf, writeRun, type FollowedRun } from '../write-run.ts'

export type AgUiStreamOptions = Pick<UIStreamOptions, 'expose'>
export type AgUiResponseOptions = AgUiStreamOptions & Pick<ResponseOptions, 'headers'>

/**
 * Streams the run as AG-UI events until it rests: first a snapshot of all messages, then what is new, so that a client
 * that reconnects receives nothing twice. `input` is the body that the client posted. Listening begins with the call.
 * Throws OPTION_INVALID or OPTION_UNKNOWN.
 */
export function toAgUiStream(run: Run, input: AgUiInput, options: AgUiStreamOptions = {}): ReadableStream<AgUiEvent> {
  const read = readInput(input)
  checkKeys('toAgUiStream', options, ['expose'])
  const exposure = readExpose(options.expose)
  return streamOf(agUiPieces(run.id, followRun(run, exposure), read, exposure))
}

/**
 * Returns the events of `toAgUiStream` as a Response with server-sent events. Rejects with RUN_NOT_FOUND,
 * OPTION_INVALID or OPTION_UNKNOWN.
 */
export async function toAgUiResponse(run: Run, input: AgUiInput, options: AgUiResponseOptions = {}): Promise<Response> {
  const read = readInput(input)
  checkKeys('toAgUiResponse', options, ['headers', 'expose'])
  const headers = responseHeaders('toAgUiResponse', options.headers)
  const exposure = readExpose(options.expose)
  const served = await run['~served']()
  const pieces = agUiPieces(run.id, followRun(run, exposure), read, exposure)
  return piecesResponse(served, pieces, { headers, last: '' })
}

function agUiPieces(
  run: string,
  followed: FollowedRun,
  input: AgUiInput,
  exposure: Exposure,
): ReturnType<typeof writeRun<AgUiEvent>> {
  const narration = createNarration(run, exposure)
  return writeRun(followed, narration, agUiWriter(narration, input), 'all')
}

/** Checks the fields that are used, and drops all others: a client's body isn't trusted. */
function readInput(input: AgUiInput): AgUiInput {
  const { threadId, runId, messages } = (input ?? {}) as Partial<AgUiInput>
  const isMessage = (message: unknown): boolean => typeof (message as { id?: unknown } | null)?.id === 'string'
  if (!Array.isArray(messages) || !messages.every(isMessage))
    throw wrong('messages of the input', messages, 'a list of messages, each with an id')
  return {
    threadId: anyText.read('threadId of the input', threadId),
    runId: anyText.read('runId of the input', runId),
    messages,
  }
}
