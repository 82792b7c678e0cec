// Small checks of a value's shape, combined into larger ones: `list(object({ name: text }))`. They are cheap for valid
// values; only invalid ones are described.
import { describe } from '../../base/options.ts'
import { memberPath } from '../json.ts'

/**
 * Returns what is wrong with a value, to be appended to its name: `.tasks[0].name is 5, not a string`. Undefined for a
 * valid value.
 */
export type Shape = (value: unknown) => string | undefined

const not =
  (fits: (value: unknown) => boolean, wanted: string): Shape =>
  (value) =>
    fits(value) ? undefined : ` is ${describe(value)}, not ${wanted}`

export const text: Shape = not((value) => typeof value === 'string', 'a string')
export const amount: Shape = not((value) => typeof value === 'number' && value >= 0, 'a number of at least 0')
export const change: Shape = not((value) => Number.isFinite(value), 'a number')
export const flag: Shape = not((value) => typeof value === 'boolean', 'true or false')
export const yes: Shape = not((value) => value === true, 'true')
export const json: Shape = not((value) => value !== undefined, 'JSON')
export const priority: Shape = not((value) => value === -1 || value === 0 || value === 1, '-1, 0 or 1')
export const anything: Shape = () => undefined
/** The format of times in entries. Date.parse would take a third of the time of the whole check. */
const isoTime = /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?Z$/
export const time: Shape = not((value) => typeof value === 'string' && isoTime.test(value), 'a time in ISO 8601')
export const entryNumber: Shape = not(
  (value) => Number.isSafeInteger(value) && (value as number) > 0,
  'an entry number',
)

export const address: Shape = not((value) => typeof value === 'string' && URL.canParse(value), 'a URL')

export const one = (...words: readonly string[]): Shape =>
  not((value) => words.includes(value as string), words.join(' or '))

export const optional =
  (shape: Shape): Shape =>
  (value) =>
    value === undefined ? undefined : shape(value)

export const either =
  (first: Shape, second: Shape): Shape =>
  (value) =>
    first(value) === undefined ? undefined : second(value)

export const both =
  (first: Shape, second: Shape): Shape =>
  (value) =>
    first(value) ?? second(value)

export const list = (shape: Shape): Shape => {
  return (value) => {
    if (!Array.isArray(value)) return ` is ${describe(value)}, not a list`
    for (let index = 0; index < value.length; index++) {
      const problem = shape(value[index])
      if (problem !== undefined) return `[${index}]${problem}`
    }
    return undefined
  }
}

function isObject(value: unknown): value is { readonly [name: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export const record = (shape: Shape): Shape => {
  return (value) => {
    if (!isObject(value)) return ` is ${describe(value)}, not an object`
    for (const [name, member] of Object.entries(value)) {
      const problem = shape(member)
      if (problem !== undefined) return memberPath('', name) + problem
    }
    return undefined
  }
}

export const object = (members: { readonly [name: string]: Shape }): Shape => {
  const names = Object.keys(members)
  const shapes = Object.values(members)
  return (value) => {
    if (!isObject(value)) return ` is ${describe(value)}, not an object`
    // indexed for speed: every entry is checked when it is read
    for (let index = 0; index < names.length; index++) {
      const problem = (shapes[index] as Shape)(value[names[index] as string])
      if (problem !== undefined) return `.${names[index]}${problem}`
    }
    return undefined
  }
}

/** An object whose member `by` decides which other members it has. */
export const choice = (
  by: string,
  forms: { readonly [name: string]: Shape | { readonly [name: string]: Shape } },
): Shape => {
  const shapes = new Map(
    Object.entries(forms).map(([name, form]) => [name, typeof form === 'function' ? form : object(form)]),
  )
  const known = one(...shapes.keys())
  return (value) => {
    if (!isObject(value)) return ` is ${describe(value)}, not an object`
    const shape = shapes.get(value[by] as string)
    return shape ? shape(value) : `.${by}${known(value[by])}`
  }
}

/** An object with at least one of these members. */
export const anyOf = (members: { readonly [name: string]: Shape }): Shape => {
  const shape = object(Object.fromEntries(Object.entries(members).map(([name, member]) => [name, optional(member)])))
  const names = Object.keys(members)
  return (value) =>
    shape(value) ??
    (names.some((name) => Object.hasOwn(value as object, name)) ? undefined : ` has none of ${names.join(', ')}`)
}
