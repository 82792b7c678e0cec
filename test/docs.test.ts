// Tests of the docs: code compiles, tables equal their source, links have targets.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { Crew, errorCodes, Run } from 'reprise'
import { withoutTestPackages } from '../scripts/test-packages.ts'
import { optionRows, withOptionTables } from '../scripts/option-tables.ts'
import { providers } from '../src/models/resolve/providers.ts'
import { purposes } from '../src/base/next.ts'
import { formatNumber as postgresFormat } from '../src/stores/postgres/migrate.ts'
import { formatNumber as redisFormat } from '../src/stores/redis/server.ts'
import { runViewStatuses, taskViewStatuses } from '../src/runs/status.ts'

const pages = [...globSync('*.md'), 'llms.txt', ...globSync('docs/**/*.md')]
const textOf = (file: string): string => readFileSync(file, 'utf8')

test('the errors page matches the table of codes', () => {
  const rows = [...textOf('docs/reference/errors.md').matchAll(/^\| `(\w+)` \| (.*) \| (yes|no) \|$/gm)]
  const documented = Object.fromEntries(rows.map(([, code, , again]) => [code, { retry: again === 'yes' }]))
  assert.deepEqual(documented, errorCodes)
  const commented = [...textOf('src/base/errors.ts').matchAll(/^ {2}\/\*\* (.*)\. \*\/\n {2}([A-Z_]+): /gm)]
  assert.deepEqual(
    rows.map(([, code, meaning = '']) => [code, meaning.charAt(0).toUpperCase() + meaning.slice(1)]),
    commented.map(([, meaning, code]) => [code, meaning]),
  )
})

test('the errors page lists every next step', () => {
  const [, section = ''] = textOf('docs/reference/errors.md').split(/^## .*$/m)
  const types = [...section.matchAll(/^\| `(\w+)` \| .*\| .+ \|$/gm)].flatMap(([, type]) =>
    type === 'type' ? [] : type,
  )
  assert.deepEqual(types, Object.keys(purposes))
})

test('the library page describes each status of a run and a task as its table does', () => {
  const page = textOf('docs/reference/library.md')
  for (const [what, table] of [['run', runViewStatuses] as const, ['task', taskViewStatuses] as const]) {
    const [, below = ''] = page.split(`\n### The status of a ${what}\n`)
    const rows = [...(below.split(/\n##+ /)[0] ?? '').matchAll(/^\| `(\w+)` \| (.*) \|$/gm)]
    assert.deepEqual(Object.fromEntries(rows.map(([, status, meaning]) => [status, meaning])), table)
  }
})

test('the library page lists every model provider with its names, package and variables', () => {
  const code = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(', ')
  const rows = providers.map(({ name, aliases = [], package: own, keys, addresses, otherVariables = [] }) => {
    const called = aliases.filter((alias) => !alias.includes('.'))
    const cells = [[name], called, own === undefined ? [] : [own], keys, addresses, otherVariables].map(code)
    return `| ${cells.join(' | ')} |`.replaceAll('|  ', '| ')
  })
  const [, section = ''] = textOf('docs/reference/library.md').split('\n### Providers of models\n')
  assert.deepEqual(section.match(/^\| `.*$/gm), rows)
  const guide = textOf('docs/guides/models.md')
  for (const { name, package: own = '', keys, variablesToSet = keys.slice(0, 1) } of providers)
    for (const word of [`\`${name}/`, own, ...variablesToSet]) assert.ok(guide.includes(word), `${name}: ${word}`)
})

test('the PostgreSQL guide has the compose file of the examples', () => {
  const file = textOf('examples/postgres/compose.yaml')
  assert.ok(textOf('docs/guides/postgres.md').includes(`\`\`\`yaml\n${file}\`\`\``))
})

test('the queues guide has the recipes of the examples', () => {
  const guide = textOf('docs/guides/queues.md')
  const recipes = globSync('examples/recipes/*.ts')
  assert.ok(recipes.length > 0)
  assert.deepEqual(
    recipes.filter((file) => !guide.includes(`\`\`\`ts\n${textOf(file)}\`\`\``)),
    [],
  )
})

test('the server guides show the current layout of doctor', () => {
  for (const [guide, number] of [
    ['postgres', postgresFormat],
    ['redis', redisFormat],
  ] as const)
    assert.match(
      textOf(`docs/guides/${guide}.md`),
      new RegExp(`^ok +layout +${number}, as this version writes it$`, 'm'),
    )
})

test('every table in the docs has its row of dashes', () => {
  for (const page of pages) {
    const lines = textOf(page)
      .replaceAll(/^```.*?^```/gms, '')
      .split('\n')
    const heads = lines.filter((line, index) => line.startsWith('| ') && !lines[index - 1]?.startsWith('|'))
    for (const head of heads) assert.match(lines[lines.indexOf(head) + 1] ?? '', /^\| ---/, `${page}: ${head}`)
  }
})

test('every error code is used', () => {
  const source = globSync('src/**/*.ts')
    .filter((file) => file !== 'src/base/errors.ts')
    .map(textOf)
    .join('\n')
  assert.deepEqual(
    Object.keys(errorCodes).filter((code) => !source.includes(`'${code}'`)),
    [],
  )
})

test('the library page lists the exports of each entry point, and no others', () => {
  const page = textOf('docs/reference/library.md')
  const { exports } = JSON.parse(textOf('package.json')) as {
    exports: { [path: string]: { 'reprise-source'?: string } }
  }
  const [before = '', types = ''] = page.split('\n## Types\n')
  const listed = (section: string, entry: string): string[] =>
    [...section.matchAll(/^\| (`reprise.*?)\|(.*)\|$/gm)]
      .filter(([, heading]) => heading!.startsWith(`\`${entry}\``))
      .flatMap(([, , names]) => [...names!.matchAll(/`(\w+)`/g)].map((match) => match[1]!))
  const entries = Object.entries(exports).filter(([, one]) => one['reprise-source'] !== undefined)
  assert.ok(entries.length > 1)
  for (const [path, one] of entries) {
    const entry = path.replace('.', 'reprise')
    const exported = exportsOf(textOf(one['reprise-source']!))
    assert.deepEqual(listed(before, entry).toSorted(), exported.values.toSorted(), entry)
    assert.deepEqual(listed(types, entry).toSorted(), exported.types.toSorted(), entry)
  }
})

test('no name is exported by two entry points', () => {
  const { exports } = JSON.parse(textOf('package.json')) as {
    exports: { [path: string]: { 'reprise-source'?: string } }
  }
  const names = Object.values(exports).flatMap((one) => {
    const file = one['reprise-source']
    const exported = file === undefined ? undefined : exportsOf(textOf(file))
    return [...(exported?.values ?? []), ...(exported?.types ?? [])]
  })
  assert.deepEqual(
    names.filter((name, index) => names.indexOf(name) !== index),
    [],
  )
})

test('the option tables on the library page are those of the code', () => {
  const page = textOf('docs/reference/library.md')
  assert.equal(page, withOptionTables(page), 'run node scripts/option-tables.ts')
  const there = [...page.matchAll(/<!-- options of (\w+) -->/g)].map((match) => match[1]!)
  assert.deepEqual(new Set(there), new Set(Object.keys(optionRows)))
})

test('the library page names every method', () => {
  const page = textOf('docs/reference/library.md')
  const methods = [Crew, Run].flatMap(({ prototype }) => Object.getOwnPropertyNames(prototype))
  const prose = page.replaceAll(/^```[\s\S]*?^```$/gm, '')
  const named = new Set([...prose.matchAll(/`([^`]+)`/g)].flatMap(([, code]) => code!.match(/\w+/g) ?? []))
  assert.deepEqual(
    methods.filter((name) => /^\w+$/.test(name) && name !== 'constructor' && !named.has(name)),
    [],
  )
})

test('every link and every test named in the docs exists', () => {
  const broken = pages.flatMap((page) => {
    const links = [...textOf(page).matchAll(/(?:\]\((?!https?:)|<img src=")([^)#"]+)/g)].map((match) =>
      join(dirname(page), match[1] as string),
    )
    const tests = [...textOf(page).matchAll(/`((?:test|scripts|examples|src\/[\w-]+)\/[\w./-]+)`/g)].map(
      (match) => match[1] as string,
    )
    return [...links, ...tests].filter((file) => !existsSync(file)).map((file) => `${page}: ${file}`)
  })
  assert.deepEqual(broken, [])
})

test('every link within a page leads to a heading there', () => {
  const slug = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .trim()
      .replaceAll(/\s/g, '-')
  const broken = pages.flatMap((page) =>
    [...textOf(page).matchAll(/\]\((?!https?:)([^)#]*)#([^)]+)\)/g)].flatMap(([link, file, place]) => {
      const target = file === '' ? page : join(dirname(page), file!)
      const headings = [...textOf(target).matchAll(/^#+ (.+)$/gm)].map((match) => slug(match[1]!))
      return headings.includes(place!) ? [] : [`${page}: ${link}`]
    }),
  )
  assert.deepEqual(broken, [])
})

test('llms.txt links every concept, guide and reference page', () => {
  const page = textOf('llms.txt')
  const meant = ['docs/tutorial.md', ...globSync('docs/{concepts,guides,reference}/*.md')]
  assert.ok(meant.length > 0)
  assert.deepEqual(
    meant.filter((file) => !page.includes(`](${file})`)),
    [],
  )
})

test('every ts block in the docs compiles', { skip: withoutTestPackages() }, () => {
  const folder = 'test/.docs'
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder)
  try {
    let blocks = 0
    // the files of the tutorial import each other: test/package compiles them
    for (const page of pages.filter((one) => one !== 'docs/tutorial.md')) {
      for (const [, code] of textOf(page).matchAll(/^```ts\n([\s\S]*?)^```/gm)) {
        blocks += 1
        writeFileSync(
          join(folder, `${page.replaceAll(/\W/g, '-')}-${blocks}.ts`),
          `// from ${page}\n${code}\nexport {}\n`,
        )
      }
    }
    assert.ok(blocks > 0, 'there are blocks')
    writeFileSync(
      join(folder, 'tsconfig.json'),
      JSON.stringify({ extends: '../../tsconfig.json', compilerOptions: { noUnusedLocals: false }, include: ['*.ts'] }),
    )
    const compiled = (() => {
      try {
        return execFileSync('node_modules/.bin/tsc', ['-p', folder], { encoding: 'utf8' })
      } catch (error) {
        return (error as { stdout: string }).stdout
      }
    })()
    assert.equal(compiled, '')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

/** Exports are lists of names; a namespace of types has one name. */
function exportsOf(code: string): { readonly values: string[]; readonly types: string[] } {
  assert.doesNotMatch(code, /^export (type )?\*(?! as)/m)
  const lists = [...code.matchAll(/^export (type )?\{([^}]*)\}/gm)].flatMap(([, type = '', list]) =>
    list!
      .split(',')
      .map((name) => `${type}${name.trim()}`)
      .filter((name) => /\w$/.test(name) && name !== 'type '),
  )
  const spaces = [...code.matchAll(/^export type \* as (\w+)/gm)].map(([, name]) => `type ${name}`)
  const functions = [...code.matchAll(/^export (?:async )?function (\w+)/gm)].map(([, name]) => name!)
  const names = [...lists, ...spaces, ...functions]
  return {
    values: names.filter((name) => !name.startsWith('type ')),
    types: names.filter((name) => name.startsWith('type ')).map((name) => name.replaceAll('type ', '')),
  }
}
