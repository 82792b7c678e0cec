// What `import { … } from 'reprise/http'` gives.
import '../../base/node-version.ts'

export { advanceHandler } from './advance-handler.ts'
export type { AdvanceHandlerOptions } from './handler-options.ts'
export { httpDispatcher, type HttpDispatcherOptions } from './http-dispatcher.ts'
