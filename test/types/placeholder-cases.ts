// One table for both parsers of placeholders, at run time and in types. The compiler checks the names against the texts
// here; placeholders.test.ts checks the same names at run time.
import type { Placeholders } from '../../src/crew/define/define-agent.ts'

/** A text, the names it uses, and what becomes of it with every name filled in as <name>. */
type Case<Text extends string, Names extends string> = {
  readonly text: Text
  readonly names: readonly Names[]
  readonly filled: string
}

function make<const Text extends string, const Names extends string>(
  text: Text,
  names: readonly Names[] &
    ([Placeholders<Text>] extends [Names] ? ([Names] extends [Placeholders<Text>] ? unknown : never) : never),
  filled: string,
): Case<Text, Names> {
  return { text, names, filled }
}

export const cases = [
  make('no placeholder', [], 'no placeholder'),
  make('{a}', ['a'], '<a>'),
  make('{a} and {b} and {a}', ['a', 'b'], '<a> and <b> and <a>'),
  make(
    '{snake_case} {camelCase} {_private} {with2digits}',
    ['snake_case', 'camelCase', '_private', 'with2digits'],
    '<snake_case> <camelCase> <_private> <with2digits>',
  ),
  make('{{a}}', [], '{a}'),
  make('{{a}} {a}', ['a'], '{a} <a>'),
  make('{{', [], '{'),
  make('{{{a}}}', ['a'], '{<a>}'),
  make('{{"json": {"deep": "{a}"}}}', ['a'], '{"json": {"deep": "<a>"}}'),
  make('{"json": {"deep": 1}}', [], '{"json": {"deep": 1}}'),
  make('{"json": "{a}"}', ['a'], '{"json": "<a>"}'),
  make('{ spaced }', [], '{ spaced }'),
  make('{}', [], '{}'),
  make('{1st}', [], '{1st}'),
  make('{a-b}', [], '{a-b}'),
  make('{a.b}', [], '{a.b}'),
  make('{open', [], '{open'),
  make('closed}', [], 'closed}'),
  make('{open {a}', ['a'], '{open <a>'),
  make('{a}{b}', ['a', 'b'], '<a><b>'),
  make('line\n{a}\n', ['a'], 'line\n<a>\n'),
  make('function f() { return {a} }', ['a'], 'function f() { return <a> }'),
  make('${a}', ['a'], '$<a>'),
] as const

// the table itself would notice a difference
// @ts-expect-error -- b is not in the text
make('{a}', ['a', 'b'], '')
// @ts-expect-error -- b is missing
make('{a} {b}', ['a'], '')
