// What a route is: one row of the table from which requests are answered and the OpenAPI description is made.
import type { TokenTable } from '../guard/tokens.ts'
import type { StudioContext } from '../context.ts'
import type { Endpoint, Endpoints, Role } from './contract.ts'

/** A part of JSON Schema. */
export interface Schema {
  readonly type?: 'string' | 'integer' | 'number' | 'boolean' | 'object' | 'array'
  readonly description?: string
  readonly enum?: readonly string[]
  readonly minimum?: number
  readonly maximum?: number
  readonly properties?: { readonly [name: string]: Schema }
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

export type Fields = { readonly [name: string]: Schema }

export interface Call<E extends Endpoint> {
  readonly place: StudioContext
  /** Undefined only where anybody may. */
  readonly role: Role
  readonly request: Request
  /** What stands in braces in the path, decoded. */
  readonly at: (name: string) => string
  readonly query: QueryOf<E>
  readonly body: BodyOf<E>
  /** Who acts, for the journal: as `authorize` says, or else the body, or else the options of the studio. */
  readonly by: string | undefined
  readonly mount: Mount
}

/** What a route may need to know of the studio that it is a route of. */
export interface Mount {
  /** The path that it is mounted under, without a slash at the end. */
  readonly base: string
  readonly version: string
  readonly tokens: TokenTable | undefined
}

type QueryOf<E extends Endpoint> = Endpoints[E] extends { readonly query: infer Query } ? Query : object
type BodyOf<E extends Endpoint> = Endpoints[E] extends { readonly body: infer Body } ? Body : undefined

export interface Route<E extends Endpoint> {
  readonly summary: string
  /** Undefined: anybody may. */
  readonly role: Role | undefined
  /** Names and schemas of what stands after the `?`. Anything else is refused. */
  readonly query?: Fields
  /** Of the JSON that it takes. Names that it does not have are refused. */
  readonly body?: { readonly fields: Fields; readonly required?: readonly string[]; readonly open?: true }
  /** Server-sent events. */
  readonly streams?: true
  handle(call: Call<E>): Promise<Endpoints[E]['response'] | Response>
}

export type Routes<E extends Endpoint> = { readonly [K in E]: Route<K> }

export const text = (description: string): Schema => ({ type: 'string', description })
export const oneOf = (description: string, ...values: readonly string[]): Schema => ({
  type: 'string',
  description,
  enum: values,
})
export const whole = (description: string, minimum: number, maximum?: number): Schema => ({
  type: 'integer',
  description,
  minimum,
  ...(maximum === undefined ? {} : { maximum }),
})
export const anything = (description: string): Schema => ({ description })
export const texts = (description: string): Schema => ({ type: 'array', description, items: { type: 'string' } })
export const record = (description: string): Schema => ({ type: 'object', description, additionalProperties: true })

/** `GET /runs/{run}`: its method, its path, and the names in braces. */
export function partsOf(endpoint: Endpoint): { method: string; path: string; names: readonly string[] } {
  const [method = '', path = ''] = endpoint.split(' ')
  return { method, path, names: [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name) }
}

export type AnyRoute = Omit<Route<Endpoint>, 'handle'> & { handle(call: Call<never>): Promise<unknown> }
