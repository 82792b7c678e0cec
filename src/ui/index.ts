// `reprise/ui`: runs in the protocols that front-ends speak. In a browser, `lastEntry` and `answersIn` are for use, and
// the types; the rest is for servers.
export { toAgUiResponse, toAgUiStream } from './ag-ui/ag-ui-stream.ts'
export type { AgUiEvent, AgUiInput, AgUiInterrupt, AgUiMessage, GivenMessage } from './ag-ui/ag-ui-events.ts'
export type { RunChunk } from './chat/chunk-writer.ts'
export {
  answersIn,
  lastEntry,
  type GivenAnswer,
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
