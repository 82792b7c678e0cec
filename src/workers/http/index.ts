// The exports of `reprise/http`.
import '../../base/node-version.ts'

export { advanceHandler } from './advance-handler.ts'
export type { AdvanceHandlerOptions } from './advance-handler.ts'
export { httpDispatcher } from './http-dispatcher.ts'
