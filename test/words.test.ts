// Lower layers return facts. Only the command line writes commands, in one file, from data.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { sections } from '../src/cli/program.ts'

const names = sections.flatMap(({ commands }) => Object.keys(commands)).join('|')
/** `reprise resume`, wherever it stands in a line that is not a comment. */
const command = new RegExp(String.raw`^(?! *(?://|/?\*)).*\breprise (?:${names}|…)`, 'm')

const withoutExamples = (source: string): string => source.replaceAll(/examples: \[[^\]]*\],\n/g, '')
const writing = (pattern: string, apart: RegExp): string[] =>
  globSync(pattern).filter((file) => !apart.test(file) && command.test(withoutExamples(readFileSync(file, 'utf8'))))

test('no message below the command line names a command', () => {
  assert.deepEqual(writing('src/**/*.ts', /^src\/cli\//), [])
})

test('no message of the command line spells out a command, except in examples and templates', () => {
  assert.deepEqual(writing('src/cli/**/*.ts', /^src\/cli\/project\.ts$|program\.ts$/), [])
})

test('no code inspects the message of an error', () => {
  const looks =
    /(?:\.message|\.facts|\.reason|messageOf\([^)]*\))\.(?:includes|startsWith|endsWith|match|replace|split|search|slice)\(/
  const looking = globSync('src/**/*.ts').filter((file) => looks.test(readFileSync(file, 'utf8')))
  assert.deepEqual(looking, [])
})
