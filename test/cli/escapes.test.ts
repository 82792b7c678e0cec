import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { createProgram } from '../../src/cli/program.ts'
import { imports, project, type Ended, type Project } from './support.ts'

/**
 * Renames the window, turns to red, clears the screen with one character, turns the direction of the text, goes back.
 */
const evil = '\u001b]0;owned\u0007\u001b[31m\u009b2J\u202e\u0008\r'
/** An id takes none of it. */
const id = 'run-2'

/** Its texts, its inputs, its model, its tools, their errors and its questions are all full of it. */
const crew = `${imports}
const evil = ${JSON.stringify(evil)}
const model = scriptedModel([
  { when: 'Break', error: 'the provider said ' + evil },
  { when: 'Pay', calls: [{ tool: 'look', input: { text: evil } }] },
  { when: 'Pay', calls: [{ tool: 'fail', input: { text: evil } }] },
  { when: 'Pay', calls: [{ tool: 'pay', input: { text: evil } }] },
  { when: 'Pay', reply: 'Paid' + evil },
  { when: 'Read', reply: 'Text' + evil + '\\nmore' },
])
const input = z.object({ text: z.string() })
const description = 'A tool' + evil
const look = tool({ name: 'look', description, effect: 'read', input, run: () => 'Seen' + evil })
const fail = tool({ name: 'fail', description, effect: 'read', input, run: () => { throw new Error('No' + evil) } })
const pay = tool({ name: 'pay', description, approval: true, input, run: () => 'Paid' + evil })
const agent = new Agent({ role: 'Clerk', goal: 'Help' + evil, model, tools: [look, fail, pay] })
const read = new Task({ name: 'read', description: 'Read {notes}' + evil, agent })
export const reads = new Crew({ name: 'reads', tasks: [read, new Task({ name: 'again', description: 'Read it again', agent })] })
export const pays = new Crew({ name: 'pays', tasks: [new Task({ name: 'pay', description: 'Pay' + evil, agent })] })
const sure = new Flow({ name: 'sure', run: (flow) => flow.ask('sure', { text: 'Sure?' + evil, about: evil }) })
export const flows = new Flow({ name: 'flows', run: (flow) => Promise.all([flow.step('look', { effect: 'read', key: evil }, () => evil), flow.run(sure), flow.event('go', z.null())]) })
export const breaks = new Crew({ name: 'breaks', tasks: [new Task({ name: 'break', description: 'Break', agent })] })
`

const reads = ['--crew', 'reads']
const file = ['--file', 'crew.ts']
const notes = ['--input', `notes=${evil}`]

/** For every command, calls in whose output a run, its texts or its errors are shown. */
const calls: { readonly [command: string]: readonly (readonly string[])[] } = {
  demo: [[evil]],
  create: [[`x${evil}`], ['made', '--model', `openai/${evil}`]],
  run: [
    ['crew.ts', '--crew', 'breaks'],
    ['crew.ts', ...reads, ...notes],
    ['crew.ts', '--crew', `reads${evil}`],
    [`crew${evil}.ts`],
    ['broken.ts'],
    ['crew.ts', ...reads, '--input', evil],
    ['crew.ts', ...reads, '--id', `a${evil}`, ...notes],
  ],
  enqueue: [
    ['crew.ts', ...reads, ...notes],
    ['crew.ts', ...reads, ...notes, '--delay', evil],
    ['crew.ts', ...reads, '--priority', evil],
  ],
  worker: [['crew.ts', '--once'], ['crew.ts', '--once', '--json'], [`crew${evil}.ts`], ['crew.ts', '--grace', evil]],
  schedule: [['crew.ts'], [`crew${evil}.ts`]],
  resume: [
    [id, ...file, ...reads],
    ['asks', ...file, '--crew', 'pays'],
    ['asks', ...file, '--crew', 'pays', '--budget', `tokens=${evil}`],
  ],
  plan: [[...file, ...reads, '--run', id, ...notes]],
  replay: [
    [...file, ...reads, '-t', 'again', '--run', id],
    [...file, ...reads, '-t', evil, '--run', id],
  ],
  fork: [[...file, ...reads, '--run', id, '--output', `again=${evil}`]],
  refresh: [[...file, ...reads, '--run', id, ...notes, '--dry-run']],
  backtest: [[...file, ...reads, '-t', 'again', '--run', id]],
  // without this refusal it would keep serving
  studio: [
    [`crew${evil}.ts`],
    ['--no-crews', '--host', `x${evil}`],
    ['crew.ts', '--token', evil],
    ['crew.ts', '--base', evil],
  ],
  runs: [[], ['--waiting'], ['--waiting', '--json'], ['--since', evil], ['--status', evil]],
  show: [
    [id],
    [id, '--steps', '--prompts'],
    [id, '--task', 'read', '--prompts'],
    ['asks', '--task', 'pay', '--steps', '--prompts'],
    ['broke'],
    ['flows'],
    [evil],
    [id, '--lineage'],
    [id, '--verify'],
    [evil, '--verify'],
    [id, '--tasks'],
    [id, '--task', evil],
    ['asks', '--json'],
    ['asks', '--prompts', '--json'],
    ['asks', '--task', 'pay', '--json'],
  ],
  'log-tasks-outputs': [[id], [id, '--json']],
  diff: [[id, 'asks']],
  tail: [[id], ['broke'], ['flows']],
  check: [['crew.ts']],
  doctor: [
    [...file, ...reads],
    ['--file', 'broken.ts'],
    ['--store', `sqlite:${evil}/x.db`],
  ],
  answer: [
    ['asks'],
    ['asks', 'q1'],
    ['asks', 'q1', '--decision', evil],
    ['flows'],
    ['flows', 'sure/q1', '--decision', 'answer', '--value', evil],
    ['asks', 'q1', '--decision', 'deny', '--reason', evil],
  ],
  send: [
    ['flows', evil, evil, '--id', evil, '--by', evil],
    [id, evil],
  ],
  edit: [['open', 'read', ...file, ...reads, '--output', evil, '--by', evil]],
  invalidate: [['open', 'read', '--by', evil]],
  requeue: [['open', '--by', evil], [evil]],
  cancel: [['open', '--by', evil]],
  export: [
    [id, `out\u009b.jsonl`],
    [id, '-'],
  ],
  import: [['out\u009b.jsonl', '--as', 'copy'], ['broken.ts']],
  copy: [
    ['sqlite:.reprise/runs.db', 'file:copies', '--dry-run'],
    ['sqlite:.reprise/runs.db', 'file:copies'],
    [`sqlite:${evil}/x.db`, `file:${evil}`],
    ['sqlite:.reprise/runs.db', 'file:copies', evil],
  ],
  delete: [['copy'], [evil]],
  prune: [['--keep', '0', '--dry-run'], ['--older-than', evil], ['--all'], ['--all', '--yes']],
  migrate: [[], ['--store', `sqlite:${evil}/x.db`, '--print'], ['--store', `postgres://${evil}`]],
}

describe('escapes and control characters', () => {
  let folder: Project
  const seen = (...args: readonly string[]): Promise<Ended> => folder.call(args, { seen: true })
  before(async () => {
    folder = await project(crew)
    await folder.write('broken.ts', `throw new Error('broken ' + ${JSON.stringify(evil)})`)
    const run = (name: string, as: string, ...more: string[]): Promise<Ended> =>
      folder.reprise('run', 'crew.ts', '--crew', name, '--id', as, ...more)
    assert.equal((await run('reads', id, ...notes)).code, 0)
    await run('reads', 'open', '--through', 'read', ...notes)
    await run('pays', 'asks')
    await run('breaks', 'broke')
    await run('flows', 'flows')
  })
  after(() => folder[Symbol.asyncDispose]())

  test('every command is covered', async () => {
    const { commands: table } = await createProgram(() => {}, ['node', 'reprise'])
    const commands = table.map((command) => command.name())
    assert.deepEqual(Object.keys(calls).toSorted(), commands.toSorted())
  })

  for (const [command, list] of Object.entries(calls))
    test(`${command} prints none of them`, async () => {
      const look = async (args: readonly string[]): Promise<void> => {
        const { stdout, stderr } = await seen(command, ...args)
        assert.ok(stdout + stderr !== '', `${command} ${args.join(' ')} printed nothing`)
        // oxlint-disable-next-line no-control-regex
        assert.doesNotMatch(stdout + stderr, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/)
      }
      await Promise.all(list.map(look))
    })

  test('unknown arguments are printed without them', async () => {
    for (const args of [[evil], ['runs', `--${evil}`], ['runs', '--limit', evil]]) {
      const { code, stderr } = await seen(...args)
      assert.equal(code, 2)
      // oxlint-disable-next-line no-control-regex
      assert.doesNotMatch(stderr, /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/)
    }
  })
})
