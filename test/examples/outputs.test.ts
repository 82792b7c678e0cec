// Every example type-checks, and prints the text after its `// Output:`.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { withoutTestPackages } from '../../scripts/test-packages.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { openModel, root, run } from './support.ts'

const fixtures: { readonly [example: string]: string } = {
  'claims.ts': 'fixtures/claims.json',
  'claims-triage/crew.ts': 'claims-triage/fixtures.json',
  'change-a-prompt.ts': 'fixtures/change-a-prompt.json',
  'crewai-replay.ts': 'fixtures/crewai-replay.json',
  'persisting-state.ts': 'fixtures/persisting-state.json',
  'flows/content-creator.ts': 'flows/fixtures/content-creator.json',
  'flows/email-responder.ts': 'flows/fixtures/email-responder.json',
  'flows/lead-score.ts': 'flows/fixtures/lead-score.json',
  'flows/meeting-assistant.ts': 'flows/fixtures/meeting-assistant.json',
  'flows/self-evaluation-loop.ts': 'flows/fixtures/self-evaluation-loop.json',
  'flows/write-a-book.ts': 'flows/fixtures/write-a-book.json',
}

/** Examples that keep running. Each has its own test. */
const driven = ['chat/crew.ts', 'service/crew.ts']

for (const [example, file] of Object.entries(fixtures)) {
  test(`${example} prints its output`, async () => {
    await using folder = await temporaryFolder()
    await using model = await openModel(file)
    const { code, stdout, stderr } = await run(`examples/${example}`, [], folder.path, model.environment)
    assert.equal(code, 0, stderr)
    assert.equal(masked(stdout.trim()), masked(await expectedOutput(join(root, 'examples', example))))
  })
}

test('run.ts runs an example without a key', async () => {
  await using folder = await temporaryFolder()
  const { code, stdout, stderr } = await run('examples/run.ts', ['claims.ts'], folder.path, {})
  assert.equal(code, 0, stderr)
  assert.equal(masked(stdout.trim()), masked(await expectedOutput(join(root, 'examples/claims.ts'))))
})

test('every crew and flow among the examples is tested', async () => {
  const crews: string[] = []
  for await (const file of glob('**/*.ts', { cwd: join(root, 'examples') })) {
    if (/new (Crew|Flow)\(/.test(await readFile(join(root, 'examples', file), 'utf8'))) crews.push(file)
  }
  assert.deepEqual(crews.toSorted(), [...Object.keys(fixtures), ...driven].toSorted())
})

test('the examples type-check', { skip: withoutTestPackages() }, async () => {
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  const project = join(import.meta.dirname, 'tsconfig.examples.json')
  await promisify(execFile)(process.execPath, [compiler, '--project', project]).catch((error: { stdout: string }) =>
    assert.fail(error.stdout),
  )
})

test('the program of the design runs as printed, with a key and a base URL, and replays only the note', async () => {
  await using folder = await temporaryFolder()
  await using model = await openModel('fixtures/claims.json')
  const { code, stdout, stderr } = await run('examples/claims.ts', [], folder.path, model.environment)
  assert.equal(code, 0, stderr)
  assert.equal(stderr, '')
  assert.match(stdout, /^Water damage [^\n]* [0-9a-f-]{36} P-77\n[0-9a-f-]{36} inherited\n$/)
  const facts = 'Task: Extract the facts from: Policy P-77, water in the cellar on 3 May.'
  assert.deepEqual(model.asked(), [facts, facts, 'Task: Write a triage note', 'Task: Write a triage note'])
})

async function expectedOutput(file: string): Promise<string> {
  const [, output = ''] = (await readFile(file, 'utf8')).split('// Output:\n')
  return output
    .trim()
    .split('\n')
    .map((line) => line.replace(/^\/\/ ?/, ''))
    .join('\n')
}

/** Ids of runs and times differ each time. */
function masked(text: string): string {
  return text
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '<id>')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
}
