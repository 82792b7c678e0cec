// Reads and checks the query and the JSON body of a request, by the fields of its route.
import { RepriseError } from '../../base/errors.ts'
import { checkKeys, isRecord } from '../../base/options.ts'
import { StudioProblem } from './problem.ts'
import type { AnyRoute } from './route.ts'
import { checkFields, readParameter } from './schema.ts'

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
