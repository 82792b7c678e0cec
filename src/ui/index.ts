// The exports of `reprise/ui`, which streams a run in the protocol of a front-end: UI messages of the AI SDK, or AG-UI.
// A browser uses `lastEntryNumber`, `answersFrom` and the types; the rest is for servers.
export { toAgUiResponse, toAgUiStream } from './ag-ui/ag-ui-stream.ts'
export type { AgUiEvent, AgUiInput } from './ag-ui/ag-ui-events.ts'
export { answersFrom } from './message.ts'
export { lastEntryNumber, type QuestionData, type RunUIMessage, type TaskData } from './message.ts'
export { toUIMessages, type PostedMessages } from './chat/turn-stream.ts'
export { toUIMessageResponse, toUIMessageStream, type UIStreamOptions } from './chat/ui-stream.ts'
