// The OpenAPI 3.1 description of the API, made from the table that requests are answered by. What comes back is named
// after its type in contract.ts, and is not described field by field.
import type { Json } from '../../journal/json.ts'
import { ownHeader } from '../guard/origin.ts'
import type { Endpoint } from './contract.ts'
import { studioCodes } from './problem.ts'
import { partsOf, type AnyRoute, type Mount } from './route.ts'

export function openApi(table: ReadonlyMap<Endpoint, AnyRoute>, { base, version, tokens }: Mount): Json {
  const paths: { [path: string]: { [method: string]: Json } } = {}
  for (const [endpoint, route] of table) {
    const { method, path } = partsOf(endpoint)
    paths[path] = { ...paths[path], [method.toLowerCase()]: operation(endpoint, route) }
  }
  const answers = [...new Set([...table.values()].map((route) => route.answers))]
  return {
    openapi: '3.1.0',
    info: { title: 'Reprise studio', version },
    servers: [{ url: `${base}/api` }],
    paths,
    components: {
      schemas: {
        Problem: {
          type: 'object',
          required: ['code', 'message'],
          properties: {
            code: { type: 'string', description: `of the table of errors, or ${Object.keys(studioCodes).join(', ')}` },
            message: { type: 'string' },
            next: { type: 'object', description: 'what can be done about it' },
          },
        },
        ...Object.fromEntries(answers.map((name) => [name, { type: 'object', description: typeWords(name) }])),
      },
      ...(tokens ? { securitySchemes: { token: { type: 'http', scheme: 'bearer' } } } : {}),
    },
    ...(tokens ? { security: [{ token: [] }] } : {}),
  }
}

function typeWords(name: string): string {
  return `${name}, as src/studio/api/contract.ts declares it`
}

function operation(endpoint: Endpoint, route: AnyRoute): Json {
  const { method, names } = partsOf(endpoint)
  const { summary, role, query = {}, body, answers, streams } = route
  const content = { [streams ? 'text/event-stream' : 'application/json']: { schema: reference(answers) } }
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
      default: { description: 'what went wrong', content: { 'application/json': { schema: reference('Problem') } } },
    },
  }
}

function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` }
}
