// `reprise run --each`: a run for each line of a file.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { batchLines } from '../../src/cli/each/batch.ts'
import type { LiveRun } from '../../src/cli/live/tree.ts'
import { columns } from '../../src/text/columns.ts'
import { imports, project, records, type Ended, type Project, type Started } from './support.ts'

/** Each call of its tool leaves a line in calls.txt; the one about HANG never ends. */
const topics = `${imports}
import { appendFileSync } from 'node:fs'
const model = scriptedModel([
  { when: 'Look up broken', error: 'no power' },
  ...['fire', 'water', 'air', 'earth'].map((topic) => ({ when: 'Look up ' + topic, calls: [{ tool: 'lookup', input: { topic } }] })),
  { when: 'Look up', reply: 'Found.' },
  { when: 'Note', reply: (text) => 'On ' + /Note on (\\w+) for (\\w+)/.exec(text)?.slice(1).join(' for ') + '\\u001b[31m\\nmore' },
])
const hang = () => new Promise(() => void setInterval(() => {}, 60_000))
const lookup = tool({ name: 'lookup', description: 'Look up', effect: 'idempotent', input: z.object({ topic: z.string() }), run: ({ topic }) => {
  if (topic === process.env.HANG) return hang()
  appendFileSync('calls.txt', topic + '\\n')
  return 'ok'
} })
const agent = new Agent({ role: 'Clerk', goal: 'Help', model, tools: [lookup] })
const find = new Task({ name: 'find', description: 'Look up {topic}', agent })
const note = new Task({ name: 'note', description: 'Note on {topic} for {reader}', agent, context: [], humanInput: process.env.ASK === '1' })
export const crew = new Crew({ name: 'topics', tasks: [find, note] })
`

const line = (topic: string): string => `${JSON.stringify({ topic, reader: 'us' })}\n`

async function withLines(...lines: readonly string[]): Promise<Project> {
  const folder = await project(topics)
  await folder.write('in.jsonl', lines.join(''))
  return folder
}

function callsIn(folder: Project): string[] {
  const path = join(folder.path, 'calls.txt')
  return existsSync(path) ? readFileSync(path, 'utf8').trim().split('\n').toSorted() : []
}

/** The lines, by number. */
function rows({ stdout }: Ended): string[] {
  return stdout
    .trimEnd()
    .split('\n')
    .map((row) => row.trim().replaceAll(/\d+\.\ds/g, 'TIME'))
    .toSorted((a, b) => Number.parseInt(a, 10) - Number.parseInt(b, 10))
}

describe('reprise run --each', { concurrency: 4 }, () => {
  test('prints a line with its number for each run that ends, and a summary', async () => {
    await using folder = await withLines(line('fire'), '\n', line('broken'), line('water'))
    const ended = await folder.reprise('run', '--each', 'in.jsonl', '--id', 'night')
    assert.equal(ended.code, 1)
    const [first, second, third, ...more] = rows(ended)
    assert.match(first ?? '', /^1 {2}completed {2}night-1 +TIME +\d+ tokens {2}On fire for us$/)
    assert.match(second ?? '', /^3 {2}failed {5}night-3 +TIME +0 tokens {2}task find failed: .*no power/)
    assert.match(third ?? '', /^4 {2}completed {2}night-4 /)
    assert.deepEqual(more, [])
    assert.match(
      ended.stderr,
      /^3 runs: 2 completed, 1 failed; \d+ tokens\ndo what is left with: npx reprise run --each in\.jsonl --id night\n$/,
    )
  })

  test('identifies runs by their inputs without --id: moved lines, and lines among new ones, are paid once', async () => {
    await using folder = await withLines(line('fire'), line('water'), line('fire'))
    const first = await folder.reprise('run', '--each', 'in.jsonl')
    assert.equal(first.code, 0)
    assert.match(first.stderr, /^3 runs: 3 completed; /)
    assert.equal(callsIn(folder).length, 3)
    await folder.write('in.jsonl', [line('air'), line('fire'), line('fire'), line('water')].join(''))
    const second = await folder.reprise('run', '--each', 'in.jsonl')
    assert.match(second.stderr, /^4 runs: 1 completed, 3 completed before; /)
    assert.deepEqual(callsIn(folder), ['air', 'fire', 'fire', 'water'])
    const third = await folder.reprise('run', '--each', 'in.jsonl')
    assert.equal(third.code, 0)
    assert.match(rows(third)[1] ?? '', /^2 {2}completed {2}each-\w{12} +before +On fire for us$/)
    const anew = 'start them again with: npx reprise run --each in.jsonl --id again'
    assert.equal(third.stderr, `4 runs: 4 completed before\n${anew}\n`)
    assert.equal(records(await folder.reprise('runs', '--json')).length, 4)
  })

  test('drops unused values of lines with one warning, and refuses them as typed options', async () => {
    const lines = ['fire', 'water'].map(
      (topic) => `${JSON.stringify({ topic, reader: 'us', customer: 7, since: 1 })}\n`,
    )
    await using folder = await withLines(...lines)
    const typed = await folder.reprise('run', '--each', 'in.jsonl', '--input', 'priority=high')
    assert.equal(typed.code, 2)
    assert.match(typed.stderr, /error: line 1 of in\.jsonl: crew topics has no input priority; it has topic, reader; /)
    const ended = await folder.reprise('run', '--each', 'in.jsonl', '--json')
    assert.equal(ended.code, 0)
    const warned = 'warning: crew topics has no input customer, since; left out of the lines of in.jsonl\n'
    assert.ok(ended.stderr.startsWith(warned), ended.stderr)
    const runs = records(await folder.reprise('runs', '--json'))
    assert.deepEqual(
      runs.map(({ inputs }) => Object.keys(inputs as object)),
      [
        ['topic', 'reader'],
        ['topic', 'reader'],
      ],
    )
  })

  test('that stopped at --through suggests the command without it', async () => {
    await using folder = await withLines(line('fire'), line('water'))
    const ended = await folder.reprise('run', '--each', 'in.jsonl', '--through', 'find')
    assert.match(ended.stderr, /do what is left with: npx reprise run --each in\.jsonl\n$/)
    assert.match((await folder.reprise('run', '--each', 'in.jsonl')).stderr, /^2 runs: 2 completed/)
  })

  test('after a kill continues with the same command, and repeats nothing', async () => {
    await using folder = await withLines(line('fire'), line('water'), line('air'), line('earth'))
    const killed = folder.start(['run', '--each', 'in.jsonl', '--concurrency', '1'], { HANG: 'air' })
    await isAt(folder, killed, 'air')
    killed.child.kill('SIGKILL')
    await killed.ended()
    assert.deepEqual(callsIn(folder), ['fire', 'water'])
    const again = await folder.reprise('run', '--each', 'in.jsonl')
    assert.equal(again.code, 0, again.stderr)
    assert.match(again.stderr, /^4 runs: 2 completed, 2 completed before; /)
    assert.deepEqual(callsIn(folder), ['air', 'earth', 'fire', 'water'])
  })

  test('leaves questions open with code 3, and the same command continues after the answers', async () => {
    await using folder = await withLines(line('fire'), line('water'))
    const asking = await folder.call(['run', '--each', 'in.jsonl', '--id', 'n'], { variables: { ASK: '1' } })
    assert.equal(asking.code, 3)
    assert.match(rows(asking)[0] ?? '', /^1 {2}waiting {4}n-1 .* {2}waits for 1 answer$/)
    assert.match(asking.stderr, /^2 runs: 2 waiting; .*\nsee the questions with: npx reprise runs --waiting\n/)
    for (const run of ['n-1', 'n-2']) await folder.reprise('answer', run, 'q1', '--decision', 'approve')
    const done = await folder.call(['run', '--each', 'in.jsonl', '--id', 'n'], { variables: { ASK: '1' } })
    assert.equal(done.code, 0, done.stderr)
    assert.equal(callsIn(folder).length, 2)
  })

  test('suspends the active runs on Ctrl-C, and counts the lines that were not started', async () => {
    await using folder = await withLines(line('fire'), line('water'), line('air'))
    const args = ['run', '--each', 'in.jsonl', '--concurrency', '1', '--json', '--id', 'n']
    const started = folder.start(args, { HANG: 'water' })
    await isAt(folder, started, 'water')
    started.child.kill('SIGINT')
    const ended = await started.ended()
    assert.equal(ended.code, 3)
    assert.match(ended.stderr, /\n3 runs: 1 completed, 1 stopped, 1 not started; /)
    assert.deepEqual(
      records(ended).map((run) => [run['line'], run['runId'], run['status']]),
      [
        [1, 'n-1', 'completed'],
        [2, 'n-2', 'stopped'],
        [3, 'n-3', 'pending'],
      ],
    )
  })

  test('overrides an inputs file by the line, and the line by typed inputs', async () => {
    await using folder = await withLines('{"topic":"fire"}\n', '{"topic":"water","reader":"you"}\n')
    await folder.write('shared.json', '{ "reader": "all", "topic": "none" }')
    const readers = async (...args: string[]): Promise<unknown[]> =>
      records(await folder.reprise('run', '--each', 'in.jsonl', '--json', ...args))
        .toSorted((a, b) => Number(a['line']) - Number(b['line']))
        .map((run) => run['inputs'])
    assert.deepEqual(await readers('--inputs', 'shared.json'), [
      { reader: 'all', topic: 'fire' },
      { reader: 'you', topic: 'water' },
    ])
    assert.deepEqual(await readers('--inputs', 'shared.json', '--input', 'reader=them'), [
      { reader: 'them', topic: 'fire' },
      { reader: 'them', topic: 'water' },
    ])
  })

  test('names every unusable line, or the first that lacks an input, before anything is stored', async () => {
    await using folder = await withLines(line('fire'), 'water\n', '[1]\n', '7\n')
    const refused = async (words: RegExp): Promise<void> => {
      const ended = await folder.reprise('run', '--each', 'in.jsonl')
      assert.equal(ended.code, 2)
      assert.match(ended.stderr, words)
      assert.ok(!existsSync(join(folder.path, '.reprise/runs.db')) || callsIn(folder).length === 0)
    }
    await refused(/^error: in\.jsonl: line 2 is not JSON \(.*\); line 3 is a list; line 4 is 7; write one object/)
    await folder.write('in.jsonl', `${line('fire')}\n{"topic":"water"}\n`)
    await refused(/^error: line 3 of in\.jsonl: .*\breader\b.*; give it there\n$/)
    await folder.write('in.jsonl', '\n\n')
    await refused(/^error: in\.jsonl has no line with inputs; write/)
    assert.deepEqual(records(await folder.reprise('runs', '--json')), [])
    assert.match((await folder.reprise('run', '--concurrency', '2')).stderr, /^error: --concurrency is for many runs;/)
  })

  test('reads lines from stdin, and refuses a line that differs from the earlier run of its id', async () => {
    await using folder = await withLines()
    const piped = async (text: string, ...args: string[]): Promise<Ended> => {
      const started = folder.start(['run', '--each', '-', ...args], {}, [...feeding(text)])
      return started.ended()
    }
    assert.equal((await piped(line('fire') + line('water'), '--id', 'n')).code, 0)
    const other = await piped(line('fire') + line('air'), '--id', 'n')
    assert.equal(other.code, 1)
    assert.match(rows(other)[1] ?? '', /^2 {2}failed {5}n-2 +run n-2 .*topic was "water" and is "air"/)
    assert.deepEqual(callsIn(folder), ['fire', 'water'])
  })
})

test('the lines of active runs fit the terminal and count the runs that are left out', () => {
  const run = (runId: string): LiveRun => ({
    runId,
    crew: 'topics',
    tasks: [
      {
        name: 'find',
        status: 'running',
        agent: 'A',
        activity: 'calls '.repeat(30),
        ms: 1,
        tokens: 1,
        cost: 0,
        reply: '',
        tasks: [],
      },
    ],
    ms: 100,
    tokens: 50,
    cost: 0,
  })
  const running = Array.from({ length: 30 }, (_, index) => ({ name: `line ${index}`, run: run(`each-${index}`) }))
  for (const width of [40, 80, 200])
    for (const height of [5, 24]) {
      const lines = batchLines({ total: 90, ended: 2, ms: 1, tokens: 1, cost: 0, running }, { width, height }, 0)
      const texts = lines.map((pieces) =>
        pieces.map((piece) => (typeof piece === 'string' ? piece : piece.text)).join(''),
      )
      assert.ok(texts.length < height, `${texts.length} lines`)
      for (const text of texts) assert.ok(columns(text) < width, text)
      assert.match(texts.at(-2) ?? '', /… \d+ more runs under way/)
    }
})

/** Resolves when the run about the topic has called its tool. */
async function isAt(folder: Project, { child }: Started, topic: string): Promise<void> {
  for (;;) {
    const found = records(await folder.reprise('runs', '--json'))
    const run = found.find(({ inputs }) => (inputs as { topic?: string }).topic === topic)
    const steps = run && (await folder.reprise('show', String(run['runId']), '--steps')).stdout
    if (steps?.includes('lookup called')) return
    assert.equal(child.exitCode, null, 'it has ended')
  }
}

/** Has the program find this text on its standard input. */
function feeding(text: string): readonly string[] {
  const code = `
    import { Readable } from 'node:stream'
    Object.defineProperty(process, 'stdin', { value: Readable.from([${JSON.stringify(text)}], { objectMode: false }) })`
  return ['--import', `data:text/javascript,${encodeURIComponent(code)}`]
}
