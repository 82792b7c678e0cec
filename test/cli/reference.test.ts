import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { fullName } from '../../src/cli/command.ts'
import { createProgram, sections } from '../../src/cli/program.ts'
import { claims, project, records } from './support.ts'

const page = await readFile(new URL('../../docs/reference/cli.md', import.meta.url), 'utf8')

/** The first cells of the table rows below a heading. */
function firstCells(heading: string): string[] {
  const [, below = ''] = page.split(`\n${heading}\n`)
  const [section = ''] = below.split(/\n##+ /)
  return section.split('\n').flatMap((line) => /^\| (`.*?) \|/.exec(line)?.[1] ?? [])
}

const code = (text: string): string => `\`${text}\``
const names = sections.flatMap(({ commands }) => Object.keys(commands))
const program = await createProgram(() => {}, ['node', 'reprise', ...names])
/** With those of groups, such as `schedule add`. */
const commands = program.commands.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))

test('the reference page lists exactly the existing commands', () => {
  const headings = page.split('\n').filter((line) => line.startsWith('### '))
  const listed = commands.map((command) => {
    const words = command.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? '...' : ''}`
      return argument.required ? `<${name}>` : `[${name}]`
    })
    return `### ${code(['reprise', fullName(command), ...words].join(' '))}`
  })
  assert.deepEqual(headings.toSorted(), listed.toSorted())
})

test('the reference page lists exactly the global options', () => {
  const options = program.options.map((option) => code(option.flags))
  assert.deepEqual(firstCells('## Options of every command').toSorted(), options.toSorted())
})

for (const command of commands) {
  const name = fullName(command)
  test(`the reference page lists exactly the options and aliases of ${name}`, () => {
    const heading = page.split('\n').find((line) => new RegExp(`^### .reprise ${name}\\b`).test(line)) ?? ''
    const options = command.options.filter(({ hidden }) => !hidden).map((option) => code(option.flags))
    assert.deepEqual(firstCells(heading).toSorted(), options.toSorted())
    for (const alias of command.aliases()) assert.ok(page.includes(code(alias)))
  })

  test(`the help of ${name} has an example`, () => {
    let help = ''
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp()
    assert.match(help, new RegExp(`\nExamples?:\n  reprise ${name}\\b`))
    assert.equal(help.match(/^Examples?:$/gm)?.length, 1)
    const wide = help.split('\n').filter((line) => line.length > 80)
    assert.deepEqual(wide, [])
  })
}

test('the reference page lists exactly the exit codes', () => {
  assert.deepEqual(
    firstCells('## Exit codes'),
    Object.values(exitCodes).map((value) => code(String(value))),
  )
})

test('the reference page names every field of the JSON of a run', async () => {
  await using folder = await project(claims)
  await folder.reprise('run', '--input', 'notes=x', '--input', 'tone=y')
  const [record = {}] = records(await folder.reprise('replay', '-t', 'note', '--json'))
  const [task = {}] = record['tasks'] as { [field: string]: unknown }[]
  const [, json = ''] = page.split('\n## JSON\n')
  for (const field of [...Object.keys(record), ...Object.keys(task)]) assert.ok(json.includes(code(field)), field)
})

test('a reader that closes the pipe early ends the help without an error', async () => {
  await using folder = await project()
  for (const args of [['--help'], ['help', 'run'], ['run', '--help']]) {
    const started = folder.start(args)
    started.child.stdout?.destroy()
    const ended = await started.ended()
    assert.deepEqual([ended.code, ended.stderr], [0, ''], args.join(' '))
  }
})
