// JSON Schemas of the API's responses, generated from the types in contract.ts. That takes seconds, so this module is
// imported on demand, and the build replaces it with the generated values (scripts/embed-values.ts).
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
/** A variable, so that compilers and bundlers don't look for the file, which isn't in the package. */
const generator = '../../../scripts/response-schemas.ts'

export const responseSchemas: ResponseSchemas = ((await import(generator)) as Generator).generateSchemas()
