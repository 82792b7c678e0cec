// A route: one row of the table that requests are handled by and the OpenAPI description is made from.
import type { TokenTable } from '../guard/tokens.ts'
import type { StudioContext } from '../context.ts'
import type { Endpoint, Endpoints, Role } from './contract.ts'
import type { Fields } from './schema.ts'

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
