// `reprise/ui`: runs in the protocols that front-ends speak. A browser uses `lastEntry` and the
// types; the rest is for servers.
export { toAgUiResponse, toAgUiStream, type AgUiResponseOptions, type AgUiStreamOptions } from './ag-ui/ag-ui-stream.ts'
export type { AgUiEvent, AgUiInput, AgUiInterrupt, AgUiMessage, GivenMessage } from './ag-ui/ag-ui-events.ts'
export { answersIn, type GivenAnswer } from './chat/answers-in.ts'
export type { RunChunk } from './chat/chunk-writer.ts'
export type { ExposeOptions } from './expose.ts'
export {
  lastEntry,
  type AskingData,
  type PartOrigin,
  type QuestionData,
  type RunDataParts,
  type RunMetadata,
  type RunUIMessage,
  type TaskData,
} from './message.ts'
export {
  toUIMessageResponse,
  toUIMessageStream,
  type UIResponseOptions,
  type UIStreamOptions,
} from './chat/ui-stream.ts'
