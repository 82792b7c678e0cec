import '../base/node-version.ts'

export { studio, type Caller, type Studio, type StudioOptions } from './studio.ts'
export { serveStudio, type ServedStudio, type ServeOptions } from './serve-studio.ts'
export type { Tokens } from './guard/tokens.ts'
export type { Role } from './api/contract.ts'
/** The types of the HTTP API. */
export type * as Api from './api/contract.ts'
