// The exports of `reprise/workers`.
import '../base/node-version.ts'

export { nextWakeAt, type Dispatcher, type DispatcherWork, type Wake } from '../crew/queue/dispatcher.ts'
export { queueName } from './dispatch/queue-name.ts'
export type { WorkerEvent } from './report/events.ts'
export { startWorker, type Worker } from './worker.ts'
export type { WorkerOptions } from './worker-options.ts'
