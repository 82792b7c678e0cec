// The type of a route: one row of the table that handles requests and that the OpenAPI description is generated from.
// Also reads the query and JSON body of a request, checked against the fields of its route.
import type { TokenTable } from '../guard.ts'
import type { StudioContext } from '../context.ts'
import type { Endpoint, Endpoints, Role } from './contract.ts'
import { type Fields, checkFields, readParameter } from './schema.ts'
import { RepriseError } from '../../base/errors.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import { StudioProblem } from './problem.ts'

export interface Call<E extends Endpoint> {
  readonly context: StudioContext
  /** Undefined at runtime if the route needs no role. */
  readonly role: Role
  readonly request: Request
  /** Returns a decoded path parameter. */
  readonly param: (name: string) => string
  readonly query: QueryOf<E>
  readonly body: BodyOf<E>
  /** The name to record in the journal: from `authorize`, else from the body, else from the options of the studio. */
  readonly by: string | undefined
  readonly mount: Mount
}

/** How the studio is served. */
export interface Mount {
  /** The path that the studio is mounted at, without a trailing slash. */
  readonly base: string
  readonly version: string
  readonly tokens: TokenTable | undefined
}

type QueryOf<E extends Endpoint> = Endpoints[E] extends { readonly query: infer Query } ? Query : object
type BodyOf<E extends Endpoint> = Endpoints[E] extends { readonly body: infer Body } ? Body : undefined

export interface Route<E extends Endpoint> {
  readonly summary: string
  /** Undefined if the route needs no role. */
  readonly role: Role | undefined
  /** Query parameters. Unknown ones are refused. */
  readonly query?: Fields
  /** Fields of the JSON body. Unknown ones are refused. */
  readonly body?: Fields
  /** Whether the response is a stream of server-sent events. */
  readonly streams?: true
  handle(call: Call<E>): Promise<Endpoints[E]['response'] | Response>
}

export type Routes<E extends Endpoint> = { readonly [K in E]: Route<K> }

/** Splits an endpoint into method, path and the names of its path parameters. */
export function partsOf(endpoint: Endpoint): { method: string; path: string; names: readonly string[] } {
  const [method = '', path = ''] = endpoint.split(' ')
  return { method, path, names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name) }
}

export type AnyRoute = Omit<Route<Endpoint>, 'handle'> & { handle(call: Call<never>): Promise<unknown> }

/** Enough for the edited outputs of a fork, too little to fill a disk. */
export const bodyLimit: number = 4 * 1024 * 1024

/** Reads the query. Throws OPTION_UNKNOWN for an unknown parameter, OPTION_INVALID for a missing or invalid one. */
export function readQuery({ query = {} }: AnyRoute, parameters: URLSearchParams): object {
  const values = Object.fromEntries(parameters)
  checkKeys('the query', values, Object.keys(query))
  const missing = Object.keys(query).find((name) => query[name]?.isRequired && values[name] === undefined)
  if (missing !== undefined) throw new RepriseError('OPTION_INVALID', `the query has no ${missing}; add it`)
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, readParameter(name, value, query[name] ?? {})]),
  )
}

/**
 * Reads the body. Resolves with undefined for routes without a body. Rejects with TYPE_REFUSED, BODY_TOO_LARGE, or
 * BODY_INVALID if it isn't a JSON object; with OPTION_UNKNOWN or OPTION_INVALID for its fields.
 */
export async function readBody({ body: fields }: AnyRoute, request: Request): Promise<unknown> {
  if (!fields) return undefined
  const type = request.headers.get('content-type') ?? ''
  // an HTML form on another site can't send this type
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new StudioProblem('TYPE_REFUSED', `the body is ${JSON.stringify(type)}; send application/json`)
  const body = parseJson(await readBodyText(request))
  if (!isRecord(body)) throw new StudioProblem('BODY_INVALID', 'the body is not a JSON object')
  checkFields(fields, body)
  return body
}

/** Rejects with BODY_TOO_LARGE as soon as the content-length, or what was read so far, exceeds the limit. */
async function readBodyText(request: Request): Promise<string> {
  const tooLarge = new StudioProblem('BODY_TOO_LARGE', `the body has more than ${bodyLimit} bytes`, {
    // the rest of the body stays unread, so the connection can't be used again
    connection: 'close',
  })
  if (Number(request.headers.get('content-length') ?? 0) > bodyLimit) throw tooLarge
  const pieces: Uint8Array[] = []
  let size = 0
  for await (const piece of request.body ?? []) {
    size += piece.byteLength
    if (size > bodyLimit) throw tooLarge
    pieces.push(piece)
  }
  return new TextDecoder().decode(Buffer.concat(pieces))
}

function parseJson(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    throw new StudioProblem('BODY_INVALID', 'the body is not JSON')
  }
}
