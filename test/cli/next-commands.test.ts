// What the command line tells people to type next: each command is taken from what was printed, read as a shell reads
// it, and run.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { sqliteStore } from 'reprise/stores'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { giveUp } from '../engine/support.ts'
import { imports, project, records, type Ended } from './support.ts'

/** Two functions: `fetch`, which fails until there is a file net, and `note`, which uses an input. */
const fetching = `${imports}
import { existsSync } from 'node:fs'
const fetch = new Task({ name: 'fetch it', effect: 'read', version: process.env.VERSION ?? '1', run() {
  if (!existsSync('net')) throw new Error('the net is down')
  return 'facts'
} })
const note = new Task({ name: 'note', effect: 'read', run: ({ inputs }) => 'note for ' + (inputs.reader ?? 'nobody') })
export const crew = new Crew({ name: 'fetching', tasks: [fetch, note] })
`

/** The same as the one task of another crew. */
const outer = `${fetching.replace('export const crew', 'const inner')}
export const crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'get', crew: inner })] })
`

/** A result that a person has to approve. */
const asking = `${imports}
const model = scriptedModel([{ when: 'Write', reply: 'a note' }])
const agent = new Agent({ role: 'Writer', goal: process.env.GOAL ?? 'Help', model })
const note = new Task({ name: 'note', description: 'Write it', agent, humanInput: true })
export const crew = new Crew({ name: 'asking', tasks: [note] })
`

/** One task that takes an input from its text. */
const reading = `${imports}
const model = scriptedModel([{ when: 'Write', reply: (text) => text.includes('for Ada') ? 'Dear Ada' : 'Dear you' }])
const agent = new Agent({ role: 'Writer', goal: 'Help', model })
export const crew = new Crew({ name: 'reading', tasks: [new Task({ name: 'note', description: 'Write for {reader}', agent })] })
`

/** One function that takes a number. */
const counting = `${imports}
const note = new Task({ name: 'note', effect: 'read', run: ({ inputs }) => inputs.count + 1 })
export const crew = new Crew({ name: 'counting', inputs: z.object({ count: z.number() }), tasks: [note] })
`

/** As a shell reads them. */
function wordsOf(line: string): string[] {
  return execFileSync('sh', ['-c', `set -- ${line}; printf '%s\\n' "$@"`], { encoding: 'utf8' })
    .trimEnd()
    .split('\n')
}

/** The words of the commands that were printed, without `npx reprise`. */
function printed({ stderr }: Ended): string[][] {
  return [...stderr.matchAll(/(?:^ *|with: )npx reprise (.*)$/gm)].map(([, words = '']) => wordsOf(words))
}

interface Case {
  readonly what: string
  readonly crew: string
  /** Commands up to the one that prints the next step. `+net` makes the file, `+GOAL=other` sets the variable. */
  readonly steps: readonly string[]
  /** A line of what it says: facts and advice. */
  readonly says: RegExp
  /** What the command that was printed then prints. */
  readonly prints: RegExp
  /** That it ends with, unless it does all. */
  readonly code?: number
}

const cases: readonly Case[] = [
  {
    what: 'a task that fails',
    crew: fetching,
    steps: [`run --id 'claim 1'`],
    says: /^error: task fetch it failed: the net is down; continue with: npx reprise resume 'claim 1'$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'a look at a run that works for another',
    crew: outer,
    steps: ['run --id r', `show 'r/get#1'`],
    says: /^continue with: npx reprise resume r$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'a resume that refuses changed code',
    crew: asking,
    steps: ['run --id r', '+GOAL=other', 'resume r --changed refuse'],
    says: /^error: task note failed: it has changed since it was started: agent goal changed; start it again with: npx reprise resume r --changed restart$/,
    prints: /^$/,
    code: exitCodes.suspended,
  },
  {
    what: 'a run that stopped where it was asked to',
    crew: fetching,
    steps: ['+net', `run --id r --through 'fetch it'`],
    says: /^Run r stopped after task fetch it, as requested; continue with: npx reprise resume r$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'a run that was cancelled',
    crew: fetching,
    steps: ['+net', `run --id r --through 'fetch it'`, 'cancel r'],
    says: /^cancelled run r; execute what is stale or missing in a new run with: npx reprise refresh --run r$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'a resume of a run that was cancelled',
    crew: fetching,
    steps: ['+net', `run --id r --through 'fetch it'`, 'cancel r', 'resume r'],
    says: /^error: run r was cancelled; execute what is stale or missing in a new run with: npx reprise refresh --run r$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'a task of a completed run that is to be done again',
    crew: fetching,
    steps: ['+net', 'run --id r', `invalidate r 'fetch it'`],
    says: /^error: run r is completed, so it can no longer be changed; make a new run from it with: npx reprise replay --run r -t 'fetch it'$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'a look at a completed run',
    crew: fetching,
    steps: ['+net', 'run --id r', 'show r'],
    says: /^make a new run from it with: npx reprise replay --run r -t note$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'an answer to nothing',
    crew: fetching,
    steps: ['+net', 'run --id r', 'answer r'],
    says: /^error: run r has no open question; look at it with: npx reprise show r$/,
    prints: /^run {6}r\n/,
  },
  {
    what: 'a run that is not there',
    crew: fetching,
    steps: ['+net', 'run --id r', 'show nothing'],
    says: /^error: there is no run nothing in \S+; list the runs with: npx reprise runs$/,
    prints: /^r +fetching +completed/m,
  },
  {
    what: 'a store without runs',
    crew: fetching,
    steps: ['+net', 'show latest'],
    says: /^error: there are no runs in \S+ yet; start one with: npx reprise run$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'a resume where every run is over',
    crew: fetching,
    steps: ['+net', 'run --id r', 'resume'],
    says: /^error: crew fetching has no unfinished run in \S+; execute what .* with: npx reprise refresh --run r$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'an input that is missing',
    crew: reading,
    steps: ['run --id r'],
    says: /^error: .*there is no input reader .*; give it with: npx reprise run --id r --input reader=value$/,
    prints: /^Dear you\n$/,
  },
  {
    what: 'a text for an input that is a number',
    crew: counting,
    steps: ['run --id r --input count=3'],
    says: /^error: .*count: .*expected number.*; give it with: npx reprise run --id r --input count:=3$/,
    prints: /^4$/m,
  },
  {
    what: 'other inputs under the same id',
    crew: reading,
    steps: ['run --id r --input reader=Bob', `run --id r --input 'reader=Ada Lovelace'`],
    says: /^error: run r was started with other inputs: .*; use another id, or make a new run from it with: npx reprise fork --run r --input 'reader=Ada Lovelace'$/,
    prints: /^Dear Ada\n$/,
  },
  {
    what: 'another run under the id of an import',
    crew: reading,
    steps: [
      'run --id r --input reader=Ada --store file:a',
      'run --id r --input reader=Bob --store file:b',
      'export r r.jsonl --store file:a',
      'import r.jsonl --store file:b',
    ],
    says: /^error: \S+ already has a run r, .*; import it under another id with: npx reprise import r\.jsonl --store file:b --as r-copy$/,
    prints: /^r-copy\n$/,
  },
  {
    what: 'outputs that are stale, and a call that refuses them',
    crew: fetching,
    steps: ['+net', 'run --id r', '+VERSION=2', 'replay --run r -t note --stale refuse'],
    says: /^error: outputs of run r are stale: .*; nothing was executed; execute what is stale or missing in a new run with: npx reprise refresh --run r$/,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'an output that has become stale',
    crew: fetching,
    steps: ['+net', `run --id r --through 'fetch it'`, '+VERSION=2', 'resume r'],
    says: /^warning: run r: task fetch it is stale: version changed; execute what is stale or missing in a new run with: npx reprise refresh --run r$/m,
    prints: /^note for nobody\n$/,
  },
  {
    what: 'an unconfirmed deletion of all runs',
    crew: fetching,
    steps: ['+net', 'run --id r', 'prune --all --crew fetching'],
    says: /^error: 1 run of crew fetching in \S+ would be deleted for good; confirm with: npx reprise prune --all --crew fetching --yes$/,
    prints: /^run +crew +status +updated\nr +fetching +completed .*\n$/,
  },
  {
    what: 'a plan of a refresh of a run',
    crew: fetching,
    steps: ['+net', 'run --id r', '+VERSION=2', 'plan --of refresh --run r'],
    says: /^error: --of is refresh, which is a fork; plan it with: npx reprise refresh --dry-run --run r$/,
    prints: /^ +execute +fetch it +version changed/m,
  },
  {
    what: 'a plan of a replay of a run',
    crew: fetching,
    steps: ['+net', 'run --id r', 'plan --of replay --run r --from note'],
    says: /^error: --of is replay, which is a fork; plan it with: npx reprise replay --dry-run --run r -t note$/,
    prints: /^ +execute +note /m,
  },
  {
    what: 'a task that is not named, of a run',
    crew: fetching,
    steps: ['+net', 'run --id r', 'run --id s', 'replay --run r'],
    says: /^error: no task is named; give its name or id; see them with: npx reprise show r --tasks$/,
    prints: /^note +\S+ +executed +note for nobody$/m,
  },
  {
    what: 'a file of several crews',
    crew: `${fetching}export const other = crew.with({})\n`,
    steps: ['+net', 'run --id r'],
    says: /^error: crew\.ts exports 2 crews: crew and other; choose one with: npx reprise run --id r --crew crew$/,
    prints: /^note for nobody\n$/,
  },
]

describe('the next command', () => {
  for (const { what, crew, steps, says, prints, code = exitCodes.done } of cases)
    test(`printed after ${what} works as printed`, async () => {
      await using folder = await project(crew)
      const variables: { [name: string]: string } = {}
      let said: Ended | undefined
      for (const step of steps) {
        const [, name, value] = /^\+(\w+)(?:=(.*))?$/.exec(step) ?? []
        if (name !== undefined && value !== undefined) variables[name] = value
        else if (name !== undefined) await folder.write(name, '')
        else said = await folder.call(wordsOf(step), { variables })
      }
      assert.ok(said)
      assert.match(said.stderr, new RegExp(says.source, 'm'))
      const next = printed(said)
      assert.equal(next.length, 1, said.stderr)
      await folder.write('net', '')
      const ended = await folder.call(next[0] ?? [], { variables })
      assert.equal(ended.code, code, ended.stderr)
      assert.match(ended.stdout, prints)
    })

  for (const { what, file, crew, place } of [
    { what: 'of a crew in crew.ts', file: 'crew.ts', crew: asking, place: [] },
    { what: 'with a file and a store', file: 'my crew.ts', crew: asking, place: ['--store', 'file:my runs'] },
    {
      what: 'of a crew that names its own store',
      file: 'own.ts',
      crew: asking.replace(`'asking',`, `'asking', store: 'sqlite:elsewhere/runs.db',`),
      place: [],
    },
  ])
    test(`for a run ${what} that waits answers or continues it, and both work`, async () => {
      await using folder = await project()
      await folder.write(file, crew)
      const asked = await folder.reprise('run', file, '--id', 'the claim', ...place)
      assert.equal(asked.code, exitCodes.suspended, asked.stderr)
      const [answer = [], resume = []] = printed(asked)
      assert.deepEqual([answer[0], resume[0]], ['answer', 'resume'])
      const shown = await folder.reprise('show', ...answer.slice(1, 2), ...answer.slice(3))
      assert.match(shown.stdout, /^question q1 /m)
      const answered = await folder.reprise(...answer, '--decision', 'approve')
      assert.equal(answered.code, exitCodes.done, answered.stderr)
      const done = await folder.reprise(...resume)
      assert.deepEqual(
        { code: done.code, stdout: done.stdout },
        { code: exitCodes.done, stdout: 'a note\n' },
        done.stderr,
      )
    })

  test('comes with facts and actions as data in an error printed as JSON', async () => {
    await using folder = await project(fetching)
    const { stdout } = await folder.reprise('run', '--id', 'r', '--json')
    const { error } = records({ code: 1, stderr: '', stdout: stdout.trimEnd().split('\n').at(-1) ?? '' })[0] as {
      error: unknown
    }
    assert.deepEqual(error, {
      code: 'TASK_FAILED',
      message: 'task fetch it failed: the net is down',
      runId: 'r',
      task: 'fetch it',
      next: { type: 'resume', runId: 'r' },
      command: 'npx reprise resume r',
      stack: 'at run (crew.ts:8:33)',
    })
  })
})

describe('the next command for a run whose crew is in another file', () => {
  const resumeWords = (ended: Ended): string[] | undefined =>
    printed({ ...ended, stderr: ended.stderr + ended.stdout }).find(([name]) => name === 'resume')

  test('names that file, whichever command prints it, and works', async () => {
    await using folder = await project(fetching)
    await mkdir(join(folder.path, 'crews'))
    await folder.write('crews/my asking.ts', asking)
    await folder.reprise('run', 'crews/my asking.ts', '--id', 'r')
    const file = ['--file', 'crews/my asking.ts']
    for (const words of [
      ['tail', 'r'],
      ['answer', 'r', 'q1', '--decision', 'approve'],
      ['show', 'r'],
    ])
      assert.deepEqual(resumeWords(await folder.reprise(...words)), ['resume', 'r', ...file], words[0])
    const invalidated = await folder.reprise('invalidate', 'r', 'note')
    assert.deepEqual(resumeWords(invalidated), ['resume', 'r', ...file])
    const cancelled = await folder.reprise('cancel', 'r')
    const [refresh = []] = printed(cancelled)
    assert.deepEqual(refresh, ['refresh', '--run', 'r', ...file])
    assert.equal((await folder.reprise(...refresh)).code, exitCodes.suspended)
  })

  test('names that file if the usual file has another crew, and works', async () => {
    await using folder = await project(fetching)
    await folder.write('two crews.ts', `${asking}export const other = new Crew({ name: 'other', tasks: [note] })\n`)
    await folder.reprise('run', 'two crews.ts', '--crew', 'crew', '--id', 'r')
    await folder.reprise('answer', 'r', 'q1', '--decision', 'approve')
    const place = ['--file', 'two crews.ts', '--crew', 'crew']
    for (const words of [
      ['resume', 'r'],
      ['resume', 'r', '--file', 'crew.ts'],
      ['plan', '--of', 'resume', '--run', 'r'],
    ]) {
      const refused = await folder.reprise(...words)
      assert.equal(refused.code, exitCodes.notFound)
      assert.deepEqual(printed(refused), [[...words.filter((word) => !/^--file$|^crew\.ts$/.test(word)), ...place]])
    }
    assert.equal((await folder.reprise('resume', 'r', ...place)).stdout, 'a note\n')
  })

  test('names that file if there is no usual file, and works', async () => {
    await using folder = await project()
    await folder.write('asking.ts', asking)
    await folder.reprise('run', 'asking.ts', '--id', 'r')
    await folder.reprise('answer', 'r', 'q1', '--decision', 'approve')
    for (const words of [
      ['resume', 'r'],
      ['plan', '--run', 'r'],
      ['edit', 'r', 'note', '--output', 'x'],
    ]) {
      const refused = await folder.reprise(...words)
      assert.equal(refused.code, exitCodes.notFound)
      assert.match(refused.stderr, /^error: there is no crew\.ts, .*; load that crew with: npx reprise /)
      assert.deepEqual(printed(refused), [[...words, '--file', 'asking.ts']])
    }
    assert.equal((await folder.reprise('resume', 'r', '--file', 'asking.ts')).stdout, 'a note\n')
  })

  test('names that file in lists of given-up runs and in doctor', async () => {
    await using folder = await project(fetching)
    await folder.write('other.ts', asking.replace("'asking'", "'other'"))
    await folder.reprise('enqueue', 'other.ts', '--id', 'killer')
    const store = await sqliteStore(join(folder.path, '.reprise', 'runs.db'))
    await giveUp(store, 'killer')
    await store.close()
    const resume = ['resume', 'killer', '--file', 'other.ts']
    assert.deepEqual(resumeWords(await folder.reprise('runs')), resume)
    const { stdout } = await folder.reprise('doctor', '--json')
    const found = records({ code: 0, stdout, stderr: '' }).find(({ check }) => check === 'given up')
    assert.match(
      String(found?.['next']),
      /reprise resume killer --file other\.ts, or end it with: npx reprise cancel killer$/,
    )
    assert.match((await folder.reprise('doctor', 'other.ts')).stdout, /resume killer --file other\.ts/)
  })

  test('names the export of a file with several crews, and the file of the latest process that had the run', async () => {
    await using folder = await project(fetching)
    await folder.write('pair.ts', `${asking}export const other = new Crew({ name: 'other', tasks: [note] })\n`)
    await folder.write('copy.ts', asking)
    await folder.reprise('run', 'pair.ts', '--crew', 'crew', '--id', 'r')
    const resume = resumeWords(await folder.reprise('tail', 'r'))
    assert.deepEqual(resume, ['resume', 'r', '--file', 'pair.ts', '--crew', 'crew'])
    await folder.reprise('fork', '--run', 'r', '--file', 'copy.ts', '--id', 'forked')
    assert.deepEqual(resumeWords(await folder.reprise('tail', 'forked')), ['resume', 'forked', '--file', 'copy.ts'])
  })

  test('names neither a deleted file nor the usual one', async () => {
    await using folder = await project(asking)
    await folder.write('moved.ts', asking)
    await folder.reprise('run', 'moved.ts', '--id', 'r')
    await folder.write('crew.ts', asking)
    assert.deepEqual(resumeWords(await folder.reprise('tail', 'r')), ['resume', 'r', '--file', 'moved.ts'])
    await rm(join(folder.path, 'moved.ts'))
    assert.deepEqual(resumeWords(await folder.reprise('tail', 'r')), ['resume', 'r'])
    await folder.reprise('run', './crew.ts', '--id', 'usual')
    assert.deepEqual(resumeWords(await folder.reprise('tail', 'usual')), ['resume', 'usual'])
  })
})
