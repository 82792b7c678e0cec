import '../base/node-version.ts'

export { studio, type Studio, type StudioOptions } from './studio.ts'
export { serveStudio, type ServeOptions, type StudioServer } from './serve-studio.ts'
/** The types of the HTTP API. */
export type * as Api from './api/contract.ts'
