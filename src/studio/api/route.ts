// A route: one row of the table that requests are handled by and the OpenAPI description is made from. Reads and checks
// the query and the JSON body of a request by its fields.
import type { TokenTable } from '../guard.ts'
import type { StudioContext } from '../context.ts'
import type { Endpoint, Endpoints, Role } from './contract.ts'
import { type Fields, checkFields, readParameter } from './schema.ts'
import { RepriseError } from '../../base/errors.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import { StudioProblem } from './problem.ts'

export interface Call<E extends Endpoint> {
  readonly context: StudioContext
  /** Undefined only for routes without a role. */
  readonly role: Role
  readonly request: Request
  /** A decoded parameter of the path. */
  readonly param: (name: string) => string
  readonly query: QueryOf<E>
  readonly body: BodyOf<E>
  /** Who acts, for the journal: from `authorize`, else from the body, else from the options of the studio. */
  readonly by: string | undefined
  readonly mount: Mount
}

/** How the studio is served. */
export interface Mount {
  /** The path that it is mounted at, without a slash at the end. */
  readonly base: string
  readonly version: string
  readonly tokens: TokenTable | undefined
}

type QueryOf<E extends Endpoint> = Endpoints[E] extends { readonly query: infer Query } ? Query : object
type BodyOf<E extends Endpoint> = Endpoints[E] extends { readonly body: infer Body } ? Body : undefined

export interface Route<E extends Endpoint> {
  readonly summary: string
  /** Undefined: needs no role. */
  readonly role: Role | undefined
  /** Parameters of the query. Others are refused. */
  readonly query?: Fields
  /** Members of the JSON body. Others are refused. */
  readonly body?: Fields
  /** Whether it responds with server-sent events. */
  readonly streams?: true
  handle(call: Call<E>): Promise<Endpoints[E]['response'] | Response>
}

export type Routes<E extends Endpoint> = { readonly [K in E]: Route<K> }

/** The method and path of an endpoint, and the names of its parameters. */
export function partsOf(endpoint: Endpoint): { method: string; path: string; names: readonly string[] } {
  const [method = '', path = ''] = endpoint.split(' ')
  return { method, path, names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name) }
}

export type AnyRoute = Omit<Route<Endpoint>, 'handle'> & { handle(call: Call<never>): Promise<unknown> }

/** Enough for the edited outputs of a fork, too little to fill a disk. */
export const bodyLimit: number = 4 * 1024 * 1024

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readQuery({ query = {} }: AnyRoute, parameters: URLSearchParams): object {
  const given = Object.fromEntries(parameters)
  checkKeys('the query', given, Object.keys(query))
  const missing = Object.keys(query).find((name) => query[name]?.isRequired && given[name] === undefined)
  if (missing !== undefined) throw new RepriseError('OPTION_INVALID', `the query has no ${missing}; give it`)
  return Object.fromEntries(
    Object.entries(given).map(([name, value]) => [name, readParameter(name, value, query[name] ?? {})]),
  )
}

/** TYPE_REFUSED, BODY_TOO_LARGE, BODY_INVALID, OPTION_UNKNOWN, OPTION_INVALID. Undefined for routes without a body. */
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

/** Stops reading at the limit, whatever the content-length. */
async function readBodyText(request: Request): Promise<string> {
  const tooLarge = new StudioProblem('BODY_TOO_LARGE', `the body has more than ${bodyLimit} bytes`, {
    // the rest of it is not read
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
