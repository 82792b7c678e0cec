// Inputs as passed, with their files read; and their comparison with the inputs of a stored run.
import type { Inputs } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { escapeFileKey, asEscapedFileReference, asFileReference, filesIn, type Files } from '../../journal/files.ts'
import { strictJson, type Json } from '../../journal/json.ts'
import { describe, ownMember } from '../../base/options.ts'
import { fileIdentity, isInputFile, readInputFile, type InputFile } from '../file.ts'

export interface RawInputs {
  /** Only to be used through `resolveInputs`. */
  readonly inputs: Inputs
  /** File contents by hash. */
  readonly files: Files
  /** Files that no longer exist, by their placeholder in `inputs`. */
  readonly gone: ReadonlyMap<Json, { readonly name: string; readonly error: RepriseError }>
}

/**
 * INPUT_INVALID with the path of the first value that isn't valid JSON, such as a Date, bigint, NaN, Map or cycle, or
 * of a file that cannot be used.
 */
export async function readRawInputs(given: unknown, what = 'inputs'): Promise<RawInputs> {
  const files = new Map<string, Uint8Array>()
  const gone = new Map<Json, { name: string; error: RepriseError }>()
  if (given === undefined) return { inputs: {}, files, gone }
  const slots = new Map<Json, { readonly file: InputFile; readonly at: string }>()
  const json = mapInputs(given, what, (file, at) => {
    const slot: Json = {}
    slots.set(slot, { file, at })
    return slot
  })
  const stand = async (value: Json): Promise<Json> => {
    const slot = slots.get(value)
    if (slot) {
      const read = await readInputFile(slot.file, slot.at)
      if ('gone' in read) {
        gone.set(value, { name: slot.file.name, error: read.gone })
        return value
      }
      files.set(read.reference.hash, read.bytes)
      return { $file: { ...read.reference } }
    }
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) {
      const list: Json[] = []
      for (const item of value as readonly Json[]) list.push(await stand(item))
      return list
    }
    const members: [string, Json][] = []
    for (const [key, member] of Object.entries(value)) members.push([escapeFileKey(key), await stand(member)])
    return Object.fromEntries(members)
  }
  return { inputs: (await stand(json)) as Inputs, files, gone }
}

/** Inputs with file references that contain only names; reads no file. INPUT_INVALID. */
export function inputsWithoutFiles(given: unknown, what: string): Inputs {
  const reference = ({ name, mediaType = '' }: InputFile): Json => ({ $file: { hash: '', name, mediaType, bytes: 0 } })
  return mapInputs(given, what, reference)
}

/** Inputs with files identified by their current contents. INPUT_INVALID. */
export function hashedInputs(given: unknown, what: string): Inputs {
  return mapInputs(given, what, fileIdentity)
}

function mapInputs(given: unknown, what: string, standFor: (file: InputFile, at: string) => Json): Inputs {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || isInputFile(given)) {
    const found = typeof given === 'object' && given !== null && isInputFile(given) ? 'a file' : describe(given)
    throw new RepriseError('INPUT_INVALID', `${what} is ${found}; give an object: { name: value }`)
  }
  const json = strictJson(given, what, (value, at) => (isInputFile(value) ? standFor(value, at) : undefined))
  if (json.ok) return json.value as Inputs
  const words = `${json.path} is ${json.found}, which is not valid JSON; give text, numbers, lists, plain objects or file(…)`
  throw new RepriseError('INPUT_INVALID', words)
}

/**
 * Resolves file references. A value in the JSON form of one of the files in `stored`, the inputs of a run, is that
 * file. With `restore`, a file that no longer exists is taken from the same position in `stored`; otherwise it is
 * INPUT_INVALID.
 */
export function resolveInputs({ inputs, gone }: RawInputs, stored: Inputs = {}, restore = false): Inputs {
  const known = new Set(filesIn(stored).map(({ hash }) => hash))
  if (gone.size === 0 && known.size === 0) return inputs
  const settle = (value: Json, before: Json | undefined): Json => {
    const missing = gone.get(value)
    if (missing) {
      if (restore && before !== undefined && asFileReference(before)?.name === missing.name) return before
      throw missing.error
    }
    if (typeof value !== 'object' || value === null) return value
    const shown = asEscapedFileReference(value)
    if (shown && known.has(shown.hash)) return { $file: { ...shown } }
    const inside = typeof before === 'object' && before !== null ? (before as { readonly [key: string]: Json }) : {}
    if (Array.isArray(value)) return (value as readonly Json[]).map((item, index) => settle(item, inside[index]))
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, settle(member, ownMember(inside, key))]),
    )
  }
  return settle(inputs, stored) as Inputs
}
