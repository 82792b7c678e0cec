// The table of all endpoints, and the OpenAPI 3.1 description of the API: its requests come from the table, its
// responses from the types of the contract.
import { actionRoutes } from '../routes/actions.ts'
import { backtestRoutes } from '../routes/backtests.ts'
import { crewRoutes } from '../routes/crews.ts'
import { questionRoutes } from '../routes/questions.ts'
import { runRoutes } from '../routes/runs.ts'
import { sessionRoutes } from '../routes/session.ts'
import { streamRoutes } from '../routes/streams.ts'
import type { Endpoint } from './contract.ts'
import { type AnyRoute, type Routes, partsOf, type Mount } from './route.ts'
import type { Json } from '../../journal/json.ts'
import { ownHeader } from '../guard.ts'
import type { ResponseSchemas } from './response-schemas.ts'
import { toObjectSchema, toSchema, type Fields } from './schema.ts'

const routes: Routes<Endpoint> = {
  ...sessionRoutes,
  'GET /openapi.json': {
    summary: 'Describe this API',
    role: 'look',
    handle: async ({ mount }) => openApi(mount, (await import('./response-schemas.ts')).responseSchemas),
  },
  ...questionRoutes,
  ...runRoutes,
  ...streamRoutes,
  ...crewRoutes,
  ...actionRoutes,
  ...backtestRoutes,
}

export const table: ReadonlyMap<Endpoint, AnyRoute> = new Map(Object.entries(routes) as [Endpoint, AnyRoute][])

function openApi({ base, version, tokens }: Mount, { responses, schemas }: ResponseSchemas): Json {
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
  // the JSDoc of an endpoint in the contract describes the operation, not the response
  const { description, ...schema } = response as { readonly description?: string }
  const content = { [streams ? 'text/event-stream' : 'application/json']: { schema } }
  const needs = role === undefined ? 'Needs no token.' : `Needs at least the role \`${role}\`.`
  return {
    summary,
    description: description === undefined ? needs : `${description} ${needs}`,
    operationId: endpoint
      .toLowerCase()
      .replaceAll(/[^a-z]+/g, '-')
      .replaceAll(/^-|-$/g, ''),
    parameters: [
      ...names.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...queryParameters(query),
      ...(streams ? [{ name: 'Last-Event-ID', in: 'header', schema: { type: 'integer' } }] : []),
      ...(method === 'GET' ? [] : [originParameter]),
    ],
    ...(body
      ? { requestBody: { required: true, content: { 'application/json': { schema: toObjectSchema(body) as Json } } } }
      : {}),
    responses: {
      200: { description: 'Success', content },
      default: { description: 'Error', content: { 'application/json': { schema: problem } } },
    },
  }
}

function queryParameters(query: Fields): Json[] {
  return Object.entries(query).map(([name, field]) => ({
    name,
    in: 'query',
    required: field.isRequired ?? false,
    schema: toSchema(field) as Json,
  }))
}

const originParameter: Json = {
  name: ownHeader,
  in: 'header',
  description: 'Any value. Required if the request has neither an `Origin` nor a token.',
  schema: { type: 'string' },
}

const problem: Json = { $ref: '#/components/schemas/Problem' }
