// What can be done next, in the words of the library and as commands.
import assert from 'node:assert/strict'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandPrefix } from '../../src/cli/write-command.ts'
import { writeCommands, type Call } from '../../src/cli/write-command.ts'
import { nextWords, purpose, purposes, type NextStep } from '../../src/base/next.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'

const runId = "ada's claim"

/** Every act, as a call and as a command. */
const table: readonly (readonly [next: NextStep, call: string, command: string])[] = [
  [{ type: 'resume', runId }, `continue with crew.run('ada\\'s claim').resume()`, `resume 'ada'\\''s claim' CREW`],
  [
    { type: 'resume', runId: 'r', changed: 'restart' },
    `start it again with crew.run('r').resume({ changed: 'restart' })`,
    'resume r --changed restart CREW',
  ],
  [
    { type: 'replay', runId: 'r', task: 'the note' },
    `make a new run from it with crew.run('r').replay('the note')`,
    `replay --run r -t 'the note' CREW`,
  ],
  [
    { type: 'fork', runId: 'r' },
    `use another id, or make a new run from it with crew.run('r').fork({ inputs })`,
    `fork --run r --input 'tone=very calm' CREW`,
  ],
  [
    { type: 'refresh', runId: 'r' },
    `execute what is stale or missing in a new run with crew.run('r').refresh()`,
    'refresh --run r CREW',
  ],
  [
    { type: 'retry', runId: 'r' },
    `try what failed again in a new run with crew.run('r').fork({ retry: 'failed' })`,
    'fork --run r --retry failed CREW',
  ],
  [
    { type: 'answer', runId: 'r', question: 'a/q1', decisions: ['approve', 'fail'] },
    `answer with crew.run('r').answer('a/q1', { decision: 'approve' | 'fail' })`,
    'answer r a/q1 STORE',
  ],
  [
    { type: 'invalidate', runId: 'r', task: 'note' },
    `have it done again with crew.run('r').invalidate('note')`,
    'invalidate r note STORE',
  ],
  [
    { type: 'answer', runId: 'r', question: '-a/q1', decisions: ['fail'] },
    `answer with crew.run('r').answer('-a/q1', { decision: 'fail' })`,
    'answer STORE -- r -a/q1',
  ],
  [{ type: 'cancel', runId: 'r' }, `end it with crew.run('r').cancel()`, 'cancel r STORE'],
  [{ type: 'delete', runId: 'r' }, `delete that run with crew.run('r').delete()`, 'delete r STORE'],
  [
    { type: 'requeue', runId: 'r' },
    `if that copy was deleted, take it back with crew.run('r').requeue()`,
    'requeue r STORE',
  ],
  [{ type: 'show', runId: 'r' }, `look at it with crew.run('r').view()`, 'show r STORE'],
  [{ type: 'runs' }, 'list the runs with crew.runs()', 'runs STORE'],
  [{ type: 'kickoff' }, 'start one with crew.kickoff()', 'run CREW'],
  [
    { type: 'give', inputs: ['notes', 'the tone'] },
    `give it with inputs: { notes: …, 'the tone': … }`,
    `plan --input notes=value --input 'the tone=value'`,
  ],
  [
    { type: 'rename', renamed: { book: 'post' } },
    `assign it to another task with renamed: { book: 'post' }`,
    'plan --renamed book=post',
  ],
  [{ type: 'import', as: 'r-copy' }, `import it under another id with { as: 'r-copy' }`, 'plan --as r-copy'],
  [
    { type: 'backtest', task: 'note', id: 'b' },
    `continue with crew.backtest('note', { id: 'b' })`,
    'backtest -t note --id b CREW',
  ],
  [
    { type: 'migrate' },
    'create its tables with openStore(url), using a role that may create tables',
    'migrate --print STORE',
  ],
]

const call: Call = { runner: 'npx reprise', words: ['plan'], inputs: ['--input', 'tone=very calm'] }

test('every action has its words in the library, and its command with the file, export and store of this call', () => {
  const given = writeCommands({ ...call, file: 'my crew.ts', crew: 'b', store: 'file:a b' })
  assert.deepEqual(new Set(table.map(([{ type }]) => type)), new Set(Object.keys(purposes)))
  for (const [next, words, command] of table) {
    assert.equal(nextWords(next), words)
    const file = next.type === 'kickoff' ? `'my crew.ts'` : `--file 'my crew.ts'`
    const whole = command.replace('CREW', `${file} --crew b --store 'file:a b'`).replace('STORE', `--store 'file:a b'`)
    assert.equal(given.command(next), `npx reprise ${whole}`)
    assert.equal(given.advice(next), `${purpose(next)} with: npx reprise ${whole}`)
  }
})

test('commands that do not load the crew get the store that the crew names, unless another was given', () => {
  const place = { ...call, file: 'crew.ts' }
  const plain = writeCommands(place)
  plain.setStore({ store: 'sqlite:elsewhere.db' })
  assert.equal(plain.command({ type: 'show', runId: 'r' }), 'npx reprise show r --store sqlite:elsewhere.db')
  assert.equal(plain.command({ type: 'resume', runId: 'r' }), 'npx reprise resume r --file crew.ts')
  const given = writeCommands({ ...place, store: 'file:other' })
  given.setStore({ store: 'sqlite:elsewhere.db' })
  assert.equal(given.command({ type: 'show', runId: 'r' }), 'npx reprise show r --store file:other')
})

test('options added to the current command come before its operands', () => {
  const commands = writeCommands({ ...call, words: ['run', '--', '-x.ts'] })
  assert.equal(commands.command({ type: 'give', inputs: ['who'] }), 'npx reprise run --input who=value -- -x.ts')
})

test("an input that isn't text is printed as JSON, with the typed value if that is JSON", () => {
  const words = ['run', '--input', 'texts=a', '--input=limit=3', '--input', 'reader=Ada']
  const commands = writeCommands({ ...call, words, inputs: ['--input', 'texts=a', '--input', 'limit=3'] })
  const types = { texts: 'array', limit: 'number', options: 'object', urgent: 'boolean' }
  const next = { type: 'give', inputs: ['texts', 'limit', 'options', 'urgent', 'notes'], types } as const
  assert.equal(
    commands.command(next),
    `npx reprise run --input reader=Ada --input 'texts:=[…]' --input limit:=3 --input 'options:={…}' --input 'urgent:=…' --input notes=value`,
  )
})

test('a crew file is added only if none of the usual places has one', async () => {
  await using folder = await temporaryFolder()
  const before = process.cwd()
  const commands = writeCommands(call)
  try {
    process.chdir(folder.path)
    assert.equal(commands.command({ type: 'kickoff' }), 'npx reprise run <file>')
    assert.equal(commands.command({ type: 'resume', runId: 'r' }), 'npx reprise resume r --file <file>')
    await writeFile('crew.ts', '')
    assert.equal(commands.command({ type: 'kickoff' }), 'npx reprise run')
    assert.equal(commands.command({ type: 'resume', runId: 'r' }), 'npx reprise resume r')
    // an unreadable package.json is reported by the command that needs it
    await writeFile('package.json', '{')
    assert.equal(commands.command({ type: 'kickoff' }), 'npx reprise run')
  } finally {
    process.chdir(before)
  }
})

test('printed commands begin with the way in which the program was started', async () => {
  await using folder = await temporaryFolder()
  const main = join(folder.path, 'my checkout', 'main.js')
  const bin = join(folder.path, 'bin')
  for (const path of [bin, join(main, '..')]) await mkdir(path)
  await writeFile(main, '')
  await symlink(main, join(bin, 'reprise'))
  assert.equal(commandPrefix('reprise'), 'reprise')
  assert.equal(commandPrefix(join(bin, 'reprise')), 'reprise')
  assert.equal(commandPrefix('/home/ada/claims/node_modules/.bin/reprise'), 'npx reprise')
  assert.equal(commandPrefix('/home/ada/claims/node_modules/reprise/dist/cli/main.js'), 'npx reprise')
  const [script, options] = [process.env['npm_lifecycle_event'], process.execArgv]
  try {
    process.execArgv = ['--conditions=reprise-source']
    process.env['npm_lifecycle_event'] = 'test'
    assert.equal(commandPrefix(main), `node --conditions=reprise-source '${main}'`)
    process.env['npm_lifecycle_event'] = 'reprise'
    assert.equal(commandPrefix(main), 'npm run -s reprise --')
  } finally {
    process.execArgv = options
    if (script === undefined) delete process.env['npm_lifecycle_event']
    else process.env['npm_lifecycle_event'] = script
  }
})

test('a printed command does not contain the password of the store', () => {
  const store = 'postgres://ada:s3cret@db.example:5432/claims?schema=x'
  const given: Call = { runner: 'npx reprise', words: ['run', `--store=${store}`], inputs: [], store }
  const { command } = writeCommands(given)
  const shown = "'postgres://ada:<password>@db.example:5432/claims?schema=x'"
  assert.equal(command({ type: 'show', runId: 'r' }), `npx reprise show r --store ${shown}`)
  const again = command({ type: 'give', inputs: ['tone'] })
  assert.equal(again, `npx reprise run '--store=${shown.slice(1)} --input tone=value`)
})
