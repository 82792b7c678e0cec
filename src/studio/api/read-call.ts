// What a request says, read and checked by its route: the query by its schemas, the body as JSON of a limited size.
// What an option means is for the library to say: it gets only names that the route has.
import { RepriseError } from '../../base/errors.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import { StudioProblem } from './problem.ts'
import type { AnyRoute, Fields, Schema } from './route.ts'

/** Enough for the outputs of a fork that somebody edited, and not for filling a disk. */
export const bodyLimit: number = 4 * 1024 * 1024

/** OPTION_INVALID, OPTION_UNKNOWN. */
export function readQuery({ query = {} }: AnyRoute, given: URLSearchParams): object {
  const said = Object.fromEntries(given)
  checkKeys('the query', said, Object.keys(query))
  return Object.fromEntries(Object.entries(said).map(([name, value]) => [name, readValue(name, value, query[name])]))
}

function readValue(name: string, value: string, schema: Schema = {}): string | number {
  const wrong = (expected: string): RepriseError =>
    new RepriseError('OPTION_INVALID', `${name} is ${JSON.stringify(value.slice(0, 80))}; give ${expected}`)
  if (schema.type === 'integer') {
    const { minimum = 0, maximum = Number.MAX_SAFE_INTEGER } = schema
    const number = /^\d{1,15}$/.test(value) ? Number(value) : Number.NaN
    if (number >= minimum && number <= maximum) return number
    throw wrong(`a whole number from ${minimum}${maximum === Number.MAX_SAFE_INTEGER ? '' : ` to ${maximum}`}`)
  }
  if (schema.enum && !schema.enum.includes(value)) throw wrong(schema.enum.join(' or '))
  return value
}

/** TYPE_REFUSED, BODY_TOO_LARGE, BODY_INVALID, OPTION_UNKNOWN. Undefined where the route takes none. */
export async function readBody({ body }: AnyRoute, request: Request): Promise<unknown> {
  if (!body) return undefined
  const type = request.headers.get('content-type') ?? ''
  // a form of another page can send the types that it may choose from; this is none of them
  if (!/^application\/json\s*(;|$)/i.test(type))
    throw new StudioProblem('TYPE_REFUSED', `the body is ${JSON.stringify(type)}; send application/json`)
  const read = parseJson(await readBodyText(request))
  if (!isRecord(read)) throw new StudioProblem('BODY_INVALID', 'the body is not a JSON object')
  if (!body.open) checkKeys('the body', read, Object.keys(body.fields))
  checkFields(body.fields, body.required ?? [], read)
  return read
}

function checkFields(fields: Fields, required: readonly string[], read: { readonly [name: string]: unknown }): void {
  const missing = required.find((name) => read[name] === undefined)
  if (missing !== undefined) throw new RepriseError('OPTION_INVALID', `the body has no ${missing}; give it`)
  for (const [name, schema] of Object.entries(fields)) {
    const value = read[name]
    if (value === undefined || schema.type === undefined) continue
    const is = Array.isArray(value) ? 'array' : value === null ? 'null' : typeof value
    const fits = schema.type === 'integer' ? Number.isInteger(value) : is === schema.type
    if (!fits) throw new RepriseError('OPTION_INVALID', `${name} of the body is of type ${is}; give a ${schema.type}`)
    if (schema.enum && !schema.enum.includes(value as string))
      throw new RepriseError('OPTION_INVALID', `${name} is ${JSON.stringify(value)}; give ${schema.enum.join(' or ')}`)
  }
}

/** Nothing is read beyond the limit, whatever the request says of its length. */
async function readBodyText(request: Request): Promise<string> {
  const tooLarge = new StudioProblem('BODY_TOO_LARGE', `the body has more than ${bodyLimit} bytes`, {
    // what is left of it is not read
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
