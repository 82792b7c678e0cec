// Puts JSON Schemas of what the studio's API answers into src/studio/api/response-schemas.ts, made from the types in
// contract.ts, for its OpenAPI description. With --check it writes nothing and fails when the two differ.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createGenerator } from 'ts-json-schema-generator'

type Schema = { [keyword: string]: unknown }
type Schemas = { [name: string]: Schema }

const target = new URL('../src/studio/api/response-schemas.ts', import.meta.url)

/** The text that the module must have. */
export function responseSchemasText(): string {
  const generator = createGenerator({
    path: fileURLToPath(new URL('../src/studio/api/contract.ts', import.meta.url)),
    tsconfig: fileURLToPath(new URL('../tsconfig.json', import.meta.url)),
    // `npm run check` does, by the compiler that counts
    skipTypeCheck: true,
    topRef: false,
    // a later version may answer more
    additionalProperties: true,
    encodeRefs: false,
    jsDoc: 'extended',
  })
  const { properties, definitions: all } = generator.createSchema('Endpoints') as unknown as {
    readonly properties: Schemas
    readonly definitions: Schemas
  }
  const { definitions: next, $schema: _, ...problem } = generator.createSchema('Problem') as Schema
  const known: Schemas = { ...all, ...(next as Schemas), Problem: problem }
  const responses = Object.fromEntries(
    Object.entries(properties).map(([endpoint, parts]) => [endpoint, (parts['properties'] as Schemas)['response']]),
  )
  const needed = namesIn([responses, problem], known)
  const schemas = Object.fromEntries([...needed, 'Problem'].toSorted().map((name) => [name, known[name]]))
  return moduleOf(written({ responses, schemas }))
}

/** Those that it refers to, and those that they refer to. */
function namesIn(value: unknown, known: Schemas, found = new Set<string>()): Set<string> {
  for (const [, name = ''] of JSON.stringify(value).matchAll(/"#\/definitions\/([^"]+)"/g)) {
    if (found.has(name)) continue
    found.add(name)
    namesIn(known[name], known, found)
  }
  return found
}

/** One line for each of them, so that a change shows where it is. */
function written(groups: { readonly [group: string]: object }): string {
  const lines = Object.entries(groups).map(([group, members]) => {
    const each = Object.entries(members).map(
      ([name, schema]) => `${JSON.stringify(name)}:${JSON.stringify(tidy(schema))}`,
    )
    return `"${group}":{\n${each.join(',\n')}\n}`
  })
  return `{${lines.join(',\n')}}`
}

function tidy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(tidy)
  if (typeof value !== 'object' || value === null) return value
  const schema: Schema = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, tidy(member)]))
  const { $ref, required, properties } = schema
  if (typeof $ref === 'string') schema['$ref'] = $ref.replace('#/definitions/', '#/components/schemas/')
  // what may be anything may be undefined, and is left out then
  if (Array.isArray(required)) {
    const sure = required.filter((name: string) => Object.keys((properties as Schemas)[name] ?? {}).length > 0)
    if (sure.length > 0) schema['required'] = sure
    else delete schema['required']
  }
  return schema
}

function moduleOf(json: string): string {
  const literal = json.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')
  return [
    '// Generated from contract.ts by scripts/response-schemas.ts: change that, and run it again.',
    `export const responseSchemas: string = \`${literal}\``,
    '',
  ].join('\n')
}

if (import.meta.main) {
  const text = responseSchemasText()
  if (!process.argv.includes('--check')) writeFileSync(target, text)
  else if (readFileSync(target, 'utf8') !== text) {
    console.error('src/studio/api/response-schemas.ts differs from contract.ts: run node scripts/response-schemas.ts')
    process.exitCode = 1
  }
}
