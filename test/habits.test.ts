// Word habits that make a comment, a message or a test title read as translated. Each folder has a budget: the number
// of hits that it had when it was last cleaned. Lower a budget after a rewrite; never raise one. Rewrite the sentence,
// don't swap the word.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { test } from 'node:test'

const habits = [
  // people where a part of the program is meant: name the part (the store, the caller, another worker)
  'whoever|whomever|somebody|nobody',
  // pronouns without a noun: name the noun
  'ones? that|those (?:that|who)|of whom|what (?:is|was) said',
  // data that speaks: it holds, shows, returns or receives
  '(?:is|are|was|were) (?:told|heard)|told of|tells of|said so|in vain',
  // write: default, continues, again, after
  'not said otherwise|(?:goes|go|gone|going) on with|anew|comes? to nothing|behind (?:it|them|each|every)',
].map((words) => new RegExp(String.raw`\b(?:${words.replaceAll(' ', ' +')})\b`, 'gi'))
// a comment begins with the noun or the verb
habits.push(/^(?:\/\/|\/\*\*|--) +Of (?:an?|the|its|all|those|one|each) /g)

const budgets: { readonly [folder: string]: number } = {
  docs: 314,
  'src/studio': 131,
  test: 31,
}

for (const folder of folders()) {
  test(`${folder} has no more habits of speech than its budget`, () => {
    const hits = sources(folder).flatMap((file) => habitsIn(file))
    const budget = budgets[folder] ?? 0
    assert.ok(hits.length <= budget, `${hits.length} hits, budget ${budget}; rewrite:\n${hits.join('\n')}`)
  })
}

test('a habit is found in comments, texts and documents, across line ends, and not in code or names', () => {
  const source = [
    'const nobody = somebody // whoever',
    '/** Returns one',
    ' * that fits. */',
    "claim('is told nothing', 'nobody')",
    '// Of the run.',
  ]
  const found = habitsOf('a.ts', source.join('\n')).map((hit) => hit.replace(/: .*/, ''))
  assert.deepEqual(found, ['a.ts:1', 'a.ts:2', 'a.ts:4', 'a.ts:5'])
  assert.deepEqual(habitsOf('a.md', 'Runs.\nThose\nthat wait'), ['a.md:2: those that'])
})

function folders(): string[] {
  return [
    ...globSync('src/*').filter((path) => !path.endsWith('.ts')),
    'test',
    'docs',
    'examples',
    'templates',
  ].toSorted()
}

function sources(folder: string): string[] {
  const all = globSync(`${folder}/**/*.{ts,tsx,md,sql,lua}`, { exclude: ['**/node_modules/**'] })
  return all.filter((file) => file !== 'test/habits.test.ts').toSorted()
}

function habitsIn(file: string): string[] {
  return habitsOf(file, readFileSync(file, 'utf8'))
}

/** Each hit as `file:line: words`. */
function habitsOf(file: string, source: string): string[] {
  return prose(file, source).flatMap(({ text, index }) =>
    habits.flatMap((habit) =>
      [...text.matchAll(habit)].map((match) => {
        const line = source.slice(0, index + match.index).split('\n').length
        return `${file}:${line}: ${match[0].toLowerCase().replaceAll(/ +/g, ' ')}`
      }),
    ),
  )
}

/** Whole documents; of code, its comments, quoted texts of several words, and texts between tags. */
function prose(file: string, source: string): { readonly text: string; readonly index: number }[] {
  if (file.endsWith('.md')) return [{ text: onOneLine(source), index: 0 }]
  const mark = /\.(?:sql|lua)$/.test(file) ? '--' : '//'
  const comment = String.raw`\/\*[\s\S]*?\*\/|(?:${mark}.*\n?[ \t]*)+`
  const text = String.raw`'[^'\n]* [^'\n]*'|"[^"\n]* [^"\n]*"|\`[^\`\n]* [^\`\n]*\`|>[^<>{}\n]* [^<>{}\n]*<`
  const found = [...source.matchAll(new RegExp(`${comment}|${text}`, 'g'))]
  return found.map((match) => ({ text: onOneLine(match[0]), index: match.index }))
}

/** The same length: line breaks, with the mark of a comment after them, become spaces. */
function onOneLine(text: string): string {
  return text.replaceAll(/\n[ \t]*(?:\/\/|\*(?!\/)|--)?/g, (found) => ' '.repeat(found.length))
}
