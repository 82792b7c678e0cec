import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { exitCodes } from '../../src/cli/exit-codes.ts'
import { claims, filing, imports, project, records, type Project, type Started } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']

/** What a person may well do wrong: the code to exit with, and the command that the message sends them to. */
const mistakes: readonly {
  readonly what: string
  readonly args: readonly string[]
  readonly code: number
  readonly error: string
  readonly next: RegExp
}[] = [
  {
    what: 'a file that is not there',
    args: ['run', 'crwe.ts'],
    code: exitCodes.notFound,
    error: 'CREW_NOT_FOUND',
    next: /^error: there is no file crwe\.ts in .*; name the file .*with: npx reprise create\n$/,
  },
  {
    what: 'a file without a crew',
    args: ['run', 'none.ts'],
    code: exitCodes.notFound,
    error: 'CREW_NOT_FOUND',
    next: /^error: none\.ts exports no crew but one \(a number\); add: .* with: npx reprise doctor none\.ts\n$/,
  },
  {
    what: 'a file with two crews',
    args: ['run', 'two.ts', '--input', 'notes=a b'],
    code: exitCodes.notFound,
    error: 'CREW_NOT_FOUND',
    next: /^error: two\.ts exports 2 crews: crew and letters; choose one with: npx reprise run two\.ts --input 'notes=a b' --crew crew\n$/,
  },
  {
    what: 'inputs that are missing',
    args: ['run', '--id', 'x'],
    code: exitCodes.usage,
    error: 'INPUT_MISSING',
    next: /^error: .*notes.*; give it with: npx reprise run --id x --input notes=value --input tone=value\n$/,
  },
  {
    what: 'a command that there is not',
    args: ['rnus'],
    code: exitCodes.usage,
    error: 'USAGE',
    next: /^error: unknown command 'rnus'\n\(Did you mean runs\?\)\n\(see: npx reprise --help\)\n$/,
  },
  {
    what: 'an option that cannot be used',
    args: ['runs', '--limit', 'few'],
    code: exitCodes.usage,
    error: 'USAGE',
    next: /^error: option '--limit <number>' argument 'few' is invalid\. .*\n\(see: npx reprise runs --help\)\n$/,
  },
  {
    what: 'a plan of a refresh',
    args: ['plan', '--of', 'refresh'],
    code: exitCodes.usage,
    error: 'USAGE',
    next: /^error: --of is refresh, which is a fork; plan it with: npx reprise refresh --dry-run\n$/,
  },
  {
    what: 'a crew without an unfinished run',
    args: ['resume', '--file', 'two.ts', '--crew', 'crew'],
    code: exitCodes.notFound,
    error: 'RUN_NOT_FOUND',
    next: /^error: crew claims has no unfinished run in .*; execute what is stale or missing in a new run with: npx reprise refresh --run claim-2 --file two\.ts --crew crew\n$/,
  },
  {
    what: 'a store of no known kind',
    args: ['runs', '--store', 'somewhere'],
    code: exitCodes.usage,
    error: 'STORE_INVALID',
    next: /^error: "somewhere" cannot be opened as a store: .* postgres:\/\/user@host\/database, redis:\/\/host:6379\/0 or memory:\n$/,
  },
  {
    what: 'a URL that is not one of PostgreSQL',
    args: ['runs', '--store', 'postgres://me:secret@/x?port=abc'],
    code: exitCodes.usage,
    error: 'STORE_INVALID',
    next: /^error: "postgres:\/\/\[redacted\]@\/x\?port=abc" cannot be .*write postgres:\/\/user@host:5432\/database\n$/,
  },
  {
    what: 'a URL that is not one of Redis',
    args: ['runs', '--store', 'redis://me:secret@host:port'],
    code: exitCodes.usage,
    error: 'STORE_INVALID',
    next: /^error: "redis:\/\/\[redacted\]@host:port" cannot be .*write redis:\/\/user@host:6379\/0\n$/,
  },
  {
    what: 'a run of another crew',
    args: ['edit', 'claim-1', 'note', '--output', 'x', '--file', 'filing.ts'],
    code: exitCodes.notFound,
    error: 'RUN_NOT_FOUND',
    next: /^error: run claim-1 belongs to crew claims, not to filing; load that crew with: npx reprise edit claim-1 note --output x\n$/,
  },
  {
    what: 'an answer to nothing',
    args: ['answer', 'claim-1'],
    code: exitCodes.notFound,
    error: 'QUESTION_NOT_FOUND',
    next: /^error: run claim-1 has no open question; look at it with: npx reprise show claim-1\n$/,
  },
  {
    what: 'an export that is not there',
    args: ['import', 'claim.jsonl'],
    code: exitCodes.usage,
    error: 'USAGE',
    next: /^error: there is no file claim\.jsonl; write one with: npx reprise export latest claim\.jsonl\n$/,
  },
  {
    what: 'a task that the crew does not have',
    args: ['replay', '-t', 'nite'],
    code: exitCodes.notFound,
    error: 'TASK_NOT_FOUND',
    next: /^error: crew claims has no task "nite"; did you mean note\?; it has facts \(\S+\), note \(\S+\)\n$/,
  },
  {
    what: 'a task that the run does not have',
    args: ['show', 'claim-1', '--task', 'nite'],
    code: exitCodes.notFound,
    error: 'TASK_NOT_FOUND',
    next: /^error: run claim-1 has no task "nite"; did you mean note\?; it has facts \(\S+\), note \(\S+\)\n$/,
  },
  {
    what: 'the beginning of several ids',
    args: ['show', 'claim'],
    code: exitCodes.usage,
    error: 'USAGE',
    next: /^error: 2 runs begin with claim: .*; give more of the id; list the runs with: npx reprise runs\n$/,
  },
  {
    what: 'a store that is not there',
    args: ['show', 'latest', '--store', 'sqlite:nowhere/runs.db'],
    code: exitCodes.notFound,
    error: 'RUN_NOT_FOUND',
    next: /^error: there are no runs in sqlite:nowhere\/runs\.db yet; start one with: npx reprise run --store sqlite:nowhere\/runs\.db\n$/,
  },
  {
    what: 'a run that another process executes',
    args: ['resume', 'held by me', '--file', 'filing.ts'],
    code: exitCodes.held,
    error: 'RUN_HELD',
    next: /^error: run held by me is held by process \d+ .*; look at it with: npx reprise show 'held by me'\n$/,
  },
]

describe('mistakes', { concurrency: 3 }, () => {
  let folder: Project
  let holder: Started
  before(async () => {
    folder = await project(claims)
    await folder.write('none.ts', 'export const one = 1\n')
    await folder.write('two.ts', `${claims}export const letters = crew.with({})\n`)
    await folder.write('filing.ts', filing)
    for (const id of ['claim-1', 'claim-2']) await folder.reprise('run', '--id', id, ...inputs)
    holder = folder.start(['run', 'filing.ts', '--id', 'held by me'], { HANG: '1' })
    await holder.says('file_claim called')
  })
  after(async () => {
    holder.child.kill('SIGINT')
    await holder.ended()
    await folder[Symbol.asyncDispose]()
  })

  for (const { what, args, code, error, next } of mistakes)
    test(`${what}: the message names the next command, and the code is ${code}`, async () => {
      const ended = await folder.reprise(...args)
      assert.deepEqual({ code: ended.code, stdout: ended.stdout }, { code, stdout: '' }, ended.stderr)
      assert.match(ended.stderr, next)
      const json = await folder.reprise(...args, '--json')
      assert.equal((records(json)[0]?.['error'] as { code?: string } | undefined)?.code, error)
    })

  test('a command that reads a missing store does not create it', async () => {
    const store = ['--store', 'sqlite:nowhere/runs.db']
    for (const args of [
      ['runs'],
      ['show', 'latest', '--tasks'],
      ['plan', ...inputs],
      ['prune', '--keep', '1'],
      ['prune', '--all', '--yes'],
    ])
      await folder.reprise(...args, ...store)
    assert.ok(!existsSync(join(folder.path, 'nowhere')))
  })
})

test('an error thrown by a function of the crew is printed with its place, as JSON too, and shown later', async () => {
  const source = `${imports}
const policyOf = (claim) => claim.policy.number
export const crew = new Crew({ name: 'slips', tasks: [new Task({ name: 'save', effect: 'read', run: () => policyOf({}) })] })
`
  await using folder = await project(source)
  const place = /at policyOf \(crew\.ts:\d+:\d+\)\n +at (?:Object\.)?run \(crew\.ts:\d+:\d+\)\n/
  const ran = await folder.reprise('run', '--id', 'r')
  assert.equal(ran.code, exitCodes.failed)
  assert.match(ran.stderr, new RegExp(`error: task save failed: .*\\n +${place.source}$`))
  assert.match((await folder.reprise('show', 'r')).stdout, place)
  const [record] = records(await folder.reprise('resume', 'r', '--json'))
  assert.match(
    String((record?.['error'] as { readonly stack?: string } | undefined)?.stack),
    /^at policyOf \(crew\.ts:\d+:\d+\)\nat /,
  )
})
