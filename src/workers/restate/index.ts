// The exports of `reprise/restate`.
import '../../base/node-version.ts'

export { restateDispatcher } from './restate-dispatcher.ts'
export type { RestateOptions } from './restate-dispatcher.ts'
