import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { claims, project, records, runIn } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']

describe('commands that read runs', { concurrency: 4 }, () => {
  test('runs lists the newest run first, with parents', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', '--through', 'facts', ...inputs)
    const child = runIn(await folder.reprise('replay', '-t', 'note'))
    const [head, ...rows] = (await folder.reprise('runs')).stdout.trimEnd().split('\n')
    assert.match(head ?? '', /^run +crew +status +tasks +tokens +lives +created +parent$/)
    assert.equal(rows.length, 2)
    assert.match(rows[0] ?? '', new RegExp(`^${child} +claims +completed +2/2 +\\d+ +1 +\\S+ \\S+ +first$`))
    assert.match(rows[1] ?? '', /^first +claims +stopped +1\/2 +\d+ +1 +\S+ \S+$/)
  })

  test('runs prints costs with the option, and always as data', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'first', '--through', 'facts', ...inputs)
    const [head, row] = (await folder.reprise('runs', '--cost')).stdout.trimEnd().split('\n')
    assert.match(head ?? '', /^run +crew +status +tasks +tokens +cost +lives +created$/)
    // a scripted model has no price
    assert.match(row ?? '', /^first +claims +stopped +1\/2 +\d+ +unknown +1 /)
    const [run] = records(await folder.reprise('runs', '--json'))
    assert.ok(run && !('cost' in run))
  })

  test('runs filters by status and crew, and limits the number', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', '--id', 'open', '--through', 'facts', ...inputs)
    await folder.reprise('run', '--id', 'done', ...inputs)
    const ids = async (...args: string[]): Promise<unknown[]> =>
      records(await folder.reprise('runs', '--json', ...args)).map((run) => run['runId'])
    assert.deepEqual(await ids('--status', 'stopped'), ['open'])
    assert.deepEqual(await ids('--limit', '1'), ['done'])
    assert.deepEqual(await ids('--crew', 'other'), [])
    assert.equal((await folder.reprise('runs', '--status', 'lost')).code, 2)
    assert.equal((await folder.reprise('runs', '--limit', '0')).code, 2)
  })

  test('runs says how many more there are, and how to list them', async () => {
    await using folder = await project(claims)
    for (const id of ['one', 'two', 'three']) await folder.reprise('run', '--id', id, '--through', 'facts', ...inputs)
    const more = 'there are more runs than these; list more with: npx reprise runs'
    assert.equal((await folder.reprise('runs', '--limit', '2')).stderr, `${more} --limit 10\n`)
    assert.equal((await folder.reprise('runs', '--limit=1', '--json')).stderr, `${more} --json --limit 5\n`)
    assert.equal((await folder.reprise('runs', '--limit', '3')).stderr, '')
    assert.equal((await folder.reprise('runs', '--limit', '1', '--crew', 'other')).stderr.includes('more'), false)
  })

  test('a removed command is refused, and names its replacement', async () => {
    await using folder = await project()
    const refusal = async (...args: string[]): Promise<string> => {
      const { code, stderr } = await folder.reprise(...args)
      assert.equal(code, 2)
      return stderr
    }
    for (const [typed, instead] of [
      ['tasks', 'show --tasks'],
      ['tasks claim-1 --json', 'show --tasks claim-1 --json'],
      ['lineage latest --store file:a', 'show --lineage latest --store file:a'],
      ['--json verify claim-1', '--json show --verify claim-1'],
      ['questions --crew claims', 'runs --waiting --crew claims'],
      ['reset --yes --help', 'prune --all --yes --help'],
      ['help tasks', 'show --tasks'],
    ] as const) {
      const [name] = /^(?:--json |help )?([a-z]+)/.exec(typed)?.slice(1) ?? []
      assert.equal(
        await refusal(...typed.split(' ')),
        `error: reprise has no command ${name}; use npx reprise ${instead}\n`,
      )
    }
    assert.equal(await refusal('completion', 'bash'), 'error: reprise has no command completion; nothing replaces it\n')
    const { stdout } = await folder.reprise('--help')
    assert.doesNotMatch(stdout, /^ +(tasks|lineage|verify|questions|reset|completion)\b/m)
  })

  test('a command that needs no crew refuses --crew in one sentence', async () => {
    await using folder = await project()
    const { code, stderr } = await folder.reprise('diff', 'a', 'b', '--crew', 'claims')
    assert.deepEqual([code, stderr], [2, 'error: diff has no option --crew: it needs no crew; leave it out\n'])
  })

  test('show accepts one of the options that select what it shows', async () => {
    await using folder = await project()
    const { code, stderr } = await folder.reprise('show', 'latest', '--tasks', '--steps')
    assert.equal(code, 2)
    assert.match(stderr, /^error: option '--tasks' cannot be used with option '--steps'/)
  })

  test('runs in a new folder says how to start, and creates nothing', async () => {
    await using folder = await project()
    const ended = await folder.reprise('runs')
    assert.deepEqual({ code: ended.code, stdout: ended.stdout }, { code: 0, stdout: '' })
    assert.match(ended.stderr, /start one with: npx reprise run <file>\n$/)
    assert.equal((await folder.reprise('show', 'latest')).code, 5)
    assert.ok(!existsSync(join(folder.path, '.reprise')))
  })

  test('show prints version, status, inputs, lineage and each task with its output', async () => {
    await using folder = await project(claims.replace("name: 'claims',", "name: 'claims', version: '7',"))
    await folder.reprise('run', '--id', 'first', ...inputs)
    const child = runIn(await folder.reprise('replay', '-t', 'note'))
    const { stdout } = await folder.reprise('show', 'first')
    assert.match(stdout, /^crew +claims, version 7$/m)
    assert.match(stdout, /^status +completed \(2 of 2 tasks done\)$/m)
    assert.match(stdout, /^input +notes = Water$/m)
    assert.match(stdout, new RegExp(`^child +${child}$`, 'm'))
    assert.match(
      stdout,
      /^facts {2}executed {2}[0-9a-f-]{36}\n {2}Analyst · \d+ tokens in, \d+ out · .*\n {2}│ \{"policy":"P-77","issue":"water"\}$/m,
    )
    const shown = await folder.reprise('show', 'latest', '--steps')
    assert.match(shown.stdout, /^parent +first, from task note on$/m)
    assert.match(shown.stdout, /^facts {2}inherited /m)
    assert.match(shown.stdout, /^ +3 {2}\S+ {2}task note started/m)
  })

  test('show --steps --json prints the journal entries', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', ...inputs)
    const entries = records(await folder.reprise('show', 'latest', '--steps', '--json'))
    assert.deepEqual(
      entries.map((entry) => entry['seq']),
      entries.map((_, index) => index + 1),
    )
    assert.equal(entries.at(-1)?.['type'], 'run.completed')
  })

  test('show --tasks lists ids, status and first output lines, as log-tasks-outputs does for the latest run', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', ...inputs)
    const ended = await folder.reprise('show', 'latest', '--tasks')
    assert.match(
      ended.stdout,
      /^task +id +status +output\nfacts +[0-9a-f-]{36} +executed +\{"policy".*\nnote +[0-9a-f-]{36} +executed +Urgentcalm\n$/,
    )
    assert.equal((await folder.reprise('log-tasks-outputs')).stdout, ended.stdout)
  })

  test('an unambiguous beginning of an id identifies a run', async () => {
    await using folder = await project(claims)
    for (const id of ['claim-a1', 'claim-b2']) await folder.reprise('run', '--id', id, ...inputs)
    assert.match((await folder.reprise('show', 'claim-b')).stdout, /^run +claim-b2$/m)
    assert.match((await folder.reprise('show', 'latest')).stdout, /^run +claim-b2$/m)
    const several = await folder.reprise('show', 'claim')
    assert.equal(several.code, 2)
    assert.match(
      several.stderr,
      /^error: 2 runs begin with claim: claim-b2 \(claims, completed\), claim-a1 \(claims, completed\); .*reprise runs\n$/,
    )
    const short = await folder.reprise('show', 'cla')
    assert.equal(short.code, 5)
    assert.match(short.stderr, /at least 4 characters; list the runs with: npx reprise runs\n$/)
    assert.match(
      (await folder.reprise('show', 'nothing')).stderr,
      /^error: there is no run nothing in .*reprise runs\n$/,
    )
  })

  test('model output is printed without escapes, but byte for byte as a result into a pipe', async () => {
    await using folder = await project(claims)
    const ended = await folder.reprise('run', '--input', 'notes=escape\u001b[2J', '--input', 'tone=calm')
    assert.match(ended.stdout, /\u001b\]0;owned\u0007/)
    const made = await folder.reprise('replay', '-t', 'note', '--id', 'made', '--input', 'tone=kind')
    const printed = [ended.stderr, made.stderr]
    for (const args of [
      ['show', 'latest', '--steps'],
      ['show', 'latest', '--tasks'],
      ['runs'],
      ['show', 'latest', '--json'],
      ['plan', '--input', 'notes=\u001b[2J'],
      ['diff', runIn(ended), 'made'],
      ['tail', 'made'],
      ['backtest', '-t', 'note', '--run', 'made'],
    ]) {
      const { stdout, stderr } = await folder.reprise(...args)
      printed.push(stdout, stderr)
    }
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(printed.join(''), /[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
  })
})
