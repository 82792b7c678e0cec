// Placeholders in texts: filled in when a task is executed, and as types. There are two parsers, for values
// (`fill-in.ts`) and for types, which must agree.
import { RepriseError } from '../../base/errors.ts'
import { inputAsText } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { nearest, ownMember } from '../../base/options.ts'
import { fillIn } from '../../text/fill-in.ts'

/** Fills in inputs. Lists and objects become JSON, a file becomes its mark. INPUT_MISSING for a missing input. */
export function interpolate(text: string, inputs: { readonly [name: string]: Json }, where: string): string {
  return fillIn(text, (name) => {
    const value = ownMember(inputs, name)
    if (value === undefined) throw inputMissing(name, where, Object.keys(inputs))
    return inputAsText(value)
  })
}

function inputMissing(name: string, where: string, given: readonly string[]): RepriseError {
  const near = nearest(name, given)
  const only = near === undefined ? '' : `, only ${near}`
  return new RepriseError(
    'INPUT_MISSING',
    `${where} uses {${name}}, but there is no input ${name}${only} (a literal brace is written {{${name}}})`,
    { next: { type: 'give', inputs: [name] } },
  )
}

/** Represents the names in a text that isn't known at compile time. */
export type Unknowable = '{unknown at compile time}'

/** Names used in a text. For a template literal type, `Facts of ${notes}`: the visible names, and `Unknowable`. */
export type Placeholders<T extends string> = T extends string
  ? ParsePlaceholders<T> | (HasHoles<T> extends true ? Unknowable : never)
  : never

/**
 * A record keyed by `string` or `a ${string}` is an index signature, with no required member; keyed by a literal, it
 * has one.
 */
type HasHoles<T extends string> = {} extends { [K in T]: 1 } ? true : false

type ParsePlaceholders<T extends string> = T extends `${string}{${infer Rest}`
  ? Rest extends `{${infer After}`
    ? ParsePlaceholders<After>
    : Rest extends `${infer Name}}${infer After}`
      ? IsIdentifier<Name> extends true
        ? Name | ParsePlaceholders<After>
        : ParsePlaceholders<Rest>
      : never
  : never

type Characters<T extends string> = T extends `${infer First}${infer Rest}` ? First | Characters<Rest> : never
type Letter = Characters<'abcdefghijklmnopqrstuvwxyz_'>
type Digit = Characters<'0123456789'>

type IsIdentifier<T extends string> =
  Lowercase<T> extends `${infer First}${infer Rest}` ? (First extends Letter ? IsWord<Rest> : false) : false
type IsWord<T extends string> = T extends ''
  ? true
  : T extends `${infer First}${infer Rest}`
    ? First extends Letter | Digit
      ? IsWord<Rest>
      : false
    : false
