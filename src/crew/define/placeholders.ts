// Placeholders of texts, filled in when a task is executed; and their names as types. The parser exists twice, for
// values (`fill-in.ts`) and for types, and both must agree.
import { RepriseError } from '../../base/errors.ts'
import { inputAsText } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { nearest, ownMember } from '../../base/options.ts'
import { fillIn } from '../../text/fill-in.ts'

/**
 * The text with its inputs. Lists and objects become JSON, a file its mark. INPUT_MISSING names one that is not there.
 */
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
    { next: { act: 'give', inputs: [name] } },
  )
}

/** Stands in for the names of a text that is not known at compile time. */
export type Unknowable = '{unknown at compile time}'

/**
 * The names that a text uses; of one with holes, `Facts of ${notes}`, those that can be seen, and whatever the holes
 * bring.
 */
export type Placeholders<T extends string> = T extends string
  ? ParsePlaceholders<T> | (HasHoles<T> extends true ? Unknowable : never)
  : never

/** Of `string` and `a ${string}` a record is an index signature, which nothing must have; of a literal, a member. */
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

type Letter =
  | 'a'
  | 'b'
  | 'c'
  | 'd'
  | 'e'
  | 'f'
  | 'g'
  | 'h'
  | 'i'
  | 'j'
  | 'k'
  | 'l'
  | 'm'
  | 'n'
  | 'o'
  | 'p'
  | 'q'
  | 'r'
  | 's'
  | 't'
  | 'u'
  | 'v'
  | 'w'
  | 'x'
  | 'y'
  | 'z'
  | '_'
type Digit = '0' | '1' | '2' | '3' | '4' | '5' | '6' | '7' | '8' | '9'

type IsIdentifier<T extends string> =
  Lowercase<T> extends `${infer First}${infer Rest}` ? (First extends Letter ? IsWord<Rest> : false) : false
type IsWord<T extends string> = T extends ''
  ? true
  : T extends `${infer First}${infer Rest}`
    ? First extends Letter | Digit
      ? IsWord<Rest>
      : false
    : false
