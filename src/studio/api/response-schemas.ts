// JSON Schemas of what the API answers, made from the types in contract.ts. That takes seconds, so this is imported
// where a description is asked for. The build puts the values in the place of this module: scripts/embed-values.ts.
import type { Json } from '../../journal/json.ts'
import type { Endpoint } from './contract.ts'

export interface ResponseSchemas {
  readonly responses: { readonly [E in Endpoint]: Json }
  /** The schemas that the responses refer to. */
  readonly schemas: { readonly [name: string]: Json }
}

interface Generator {
  readonly generateSchemas: () => ResponseSchemas
}
/** A variable, so that neither the compiler nor a bundler looks for what is not in the package. */
const generator = '../../../scripts/response-schemas.ts'

export const responseSchemas: ResponseSchemas = ((await import(generator)) as Generator).generateSchemas()
