// What `import { … } from 'reprise/workers'` gives.
import '../base/node-version.ts'

export {
  nextWakeAt,
  type DispatchedOptions,
  type DispatchedWork,
  type Dispatcher,
  type Wake,
} from '../crew/queue/dispatcher.ts'
export { queueName } from './dispatch/queue-name.ts'
export type { Outcome, WorkerEvent } from './report/events.ts'
export type { WorkerHealth } from './report/health.ts'
export { startWorker, type Worker } from './worker.ts'
export type { WorkerOptions } from './worker-options.ts'
