// The OpenAPI 3.1 description of the API, made from the table that requests are answered by, and from the schemas of
// what comes back.
import type { Json } from '../../journal/json.ts'
import { ownHeader } from '../guard/origin.ts'
import type { Endpoint } from './contract.ts'
import type { ResponseSchemas } from './response-schemas.ts'
import { partsOf, type AnyRoute, type Mount } from './route.ts'

export function openApi(
  table: ReadonlyMap<Endpoint, AnyRoute>,
  { base, version, tokens }: Mount,
  { responses, schemas }: ResponseSchemas,
): Json {
  const paths: { [path: string]: { [method: string]: Json } } = {}
  for (const [endpoint, route] of table) {
    const { method, path } = partsOf(endpoint)
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(endpoint, route, responses[endpoint]) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Reprise studio', version },
    servers: [{ url: `${base}/api` }],
    paths,
    components: {
      schemas,
      ...(tokens ? { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } } : {}),
    },
    ...(tokens ? { security: [{ token: [] }] } : {}),
  }
}

function operation(endpoint: Endpoint, route: AnyRoute, response: Json): Json {
  const { method, names } = partsOf(endpoint)
  const { summary, role, query = {}, body, streams } = route
  const content = { [streams ? 'text/event-stream' : 'application/json']: { schema: response } }
  return {
    summary,
    description: role === undefined ? 'Anybody may.' : `For the role ${role}, and those that may more.`,
    operationId: endpoint
      .toLowerCase()
      .replaceAll(/[^a-z]+/g, '-')
      .replaceAll(/^-|-$/g, ''),
    parameters: [
      ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...Object.entries(query).map(([name, schema]) => ({ name, in: 'query', schema: schema as Json })),
      ...(streams ? [{ name: 'Last-Event-ID', in: 'header', schema: { type: 'integer' } }] : []),
      ...(method === 'GET'
        ? []
        : [
            {
              name: ownHeader,
              in: 'header',
              description: 'where there is no Origin and no token',
              schema: { type: 'string' },
            },
          ]),
    ],
    ...(body
      ? {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: {
                  type: 'object',
                  properties: body.fields as unknown as Json,
                  required: [...(body.required ?? [])],
                  additionalProperties: false,
                },
              },
            },
          },
        }
      : {}),
    responses: {
      200: { description: 'done', content },
      default: { description: 'what went wrong', content: { 'application/json': { schema: problem } } },
    },
  }
}

const problem: Json = { $ref: '#/components/schemas/Problem' }
