// Generates JSON Schemas of the studio API's responses from the types in contract.ts, for the OpenAPI description.
import { fileURLToPath } from 'node:url'
import { createGenerator } from 'ts-json-schema-generator'
import type { ResponseSchemas } from '../src/studio/api/response-schemas.ts'

type Schema = { [keyword: string]: unknown }
type Schemas = { [name: string]: Schema }

export function generateSchemas(): ResponseSchemas {
  const generator = createGenerator({
    path: fileURLToPath(new URL('../src/studio/api/contract.ts', import.meta.url)),
    tsconfig: fileURLToPath(new URL('../tsconfig.json', import.meta.url)),
    // `npm run check` checks types, with the project's own compiler
    skipTypeCheck: true,
    topRef: false,
    // later versions may add fields
    additionalProperties: true,
    encodeRefs: false,
    jsDoc: 'extended',
  })
  const { properties: responses, definitions: all } = generator.createSchema('Responses') as unknown as {
    readonly properties: Schemas
    readonly definitions: Schemas
  }
  const { definitions: next, $schema: _, ...problem } = generator.createSchema('Problem') as Schema
  const known: Schemas = { ...all, ...(next as Schemas), Problem: problem }
  const needed = namesIn([responses, problem], known)
  const schemas = Object.fromEntries([...needed, 'Problem'].toSorted().map((name) => [name, known[name]]))
  return tidy({ responses, schemas }) as ResponseSchemas
}

/** Returns the names of the definitions that a value refers to, directly or through others. */
function namesIn(value: unknown, known: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/definitions\/([^"]+)"/g)) {
    if (found.has(name)) continue
    found.add(name)
    namesIn(known[name], known, found)
  }
  return found
}

function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const schema: Schema = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, tidy(member)]))
  const { $ref, required, properties } = schema
  if (typeof $ref === 'string') schema['$ref'] = $ref.replace('#/definitions/', '#/components/schemas/')
  // a property of type `unknown` has an empty schema, and may be undefined, which JSON leaves out
  if (Array.isArray(required)) {
    const sure = required.filter((name: string) =>
      Object.keys((properties as Schemas)[name] ?? {}).some((keyword) => keyword !== 'description'),
    )
    if (sure.length > 0) schema['required'] = sure
    else delete schema['required']
  }
  return schema
}
