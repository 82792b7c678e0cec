// `reprise/ui`: runs in the protocols of front-ends. Browsers use `lastEntry` and the types; the rest is for servers.
export { toAgUiResponse, toAgUiStream, type AgUiResponseOptions, type AgUiStreamOptions } from './ag-ui/ag-ui-stream.ts'
export type { AgUiEvent, AgUiInput, AgUiInterrupt, AgUiMessage, ClientMessage } from './ag-ui/ag-ui-events.ts'
export { answersFrom, type QuestionAnswer } from './chat/answers-from.ts'
export type { RunChunk } from './chat/chunk-writer.ts'
export type { ExposeOptions } from './expose.ts'
export {
  lastEntryNumber,
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
