import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { claims, project, records, type Project } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']

async function withRun(): Promise<Project> {
  const folder = await project(claims)
  await folder.reprise('run', '--id', 'first', ...inputs)
  return folder
}

describe('commands that plan and make runs', { concurrency: 4 }, () => {
  test('plan of a kickoff prints what would be executed, and creates nothing', async () => {
    await using folder = await project(claims)
    const ended = await folder.reprise('plan', ...inputs)
    assert.equal(ended.code, 0)
    assert.match(ended.stdout, /^A new run: 2 of 2 tasks are executed\n {2}execute {2}facts {2}the run is new/)
    assert.equal((await folder.reprise('plan', '--of', 'resume')).code, 5)
    assert.ok(!existsSync(join(folder.path, '.reprise')))
  })

  test('plan gives the reason for each task of a fork, as data too, and refuses options without effect', async () => {
    await using folder = await withRun()
    const { stdout } = await folder.reprise('plan', '--input', 'tone=kind')
    assert.match(stdout, /^A new run from run first: 1 of 2 tasks is executed$/m)
    assert.match(stdout, /^ {2}inherit {2}facts {2}its output is recorded$/m)
    assert.match(stdout, /^ {2}execute {2}note {3}input tone changed; about \d+ tokens/m)
    const [plan] = records(await folder.reprise('plan', '--from', 'facts', '--through', 'facts', '--json'))
    assert.deepEqual(plan?.['execute'], ['facts'])
    assert.equal((await folder.reprise('plan', '--of', 'resume', '--from', 'note')).code, 2)
  })

  test('replay prints its plan and continues without a question where there is no terminal', async () => {
    await using folder = await withRun()
    const ended = await folder.reprise('replay', '-t', 'note', '--id', 'second', '--input', 'tone=kind')
    assert.deepEqual({ code: ended.code, stdout: ended.stdout }, { code: 0, stdout: 'Urgentkind\nSecond line\n' })
    assert.match(
      ended.stderr,
      /^A new run from run first: 1 of 2 tasks is executed\n.*\n.*\nExpected: about \d+ tokens/,
    )
    assert.match(ended.stderr, /^run second completed/m)
    const again = await folder.reprise('replay', '-t', 'note', '--id', 'second', '--input', 'tone=kind')
    assert.equal(again.stdout, ended.stdout)
    assert.match(again.stderr, /^A resume of run second: nothing is executed$/m)
    assert.match(again.stderr, /second completed before/)
  })

  test('replay --task-id accepts what -t accepts, a name or an id, and both at once are refused', async () => {
    await using folder = await withRun()
    const tasks = records(await folder.reprise('show', 'latest', '--tasks', '--json'))
    const note = tasks.find((task) => task['name'] === 'note')
    for (const reference of ['note', String(note?.['id'])]) {
      const { code, stdout } = await folder.reprise('replay', '--task-id', reference, '--dry-run')
      assert.equal(code, 0)
      assert.match(stdout, /execute {2}note/)
    }
    const both = await folder.reprise('replay', '-t', 'note', '--task-id', 'note')
    assert.equal(both.code, 2)
    assert.match(both.stderr, /'--task-id <task>' cannot be used with option '-t, --task <task>'/)
  })

  test('replay --dry-run prints the plan to stdout and makes no run, and --stale refuse stops before one', async () => {
    await using folder = await withRun()
    const dry = await folder.reprise('replay', '-t', 'note', '--dry-run')
    assert.equal(dry.code, 0)
    assert.match(dry.stdout, /^A new run from run first/)
    const refused = await folder.reprise('replay', '-t', 'note', '--stale', 'refuse', '--input', 'notes=Fire')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^error: .*input notes changed.*reprise refresh/)
    assert.equal(records(await folder.reprise('runs', '--json')).length, 1)
  })

  test('fork accepts outputs as text, JSON or a file, records who gave them, and executes what depends on them', async () => {
    await using folder = await withRun()
    await folder.write('facts.json', '{ "policy": "P-1", "issue": "escape" }')
    const ended = await folder.reprise('fork', '--output', 'facts=@facts.json', '--by', 'ada', '--json')
    const [record] = records(ended)
    const tasks = record?.['tasks'] as { status: string; output: unknown }[]
    assert.deepEqual(
      tasks.map(({ status }) => status),
      ['edited', 'executed'],
    )
    assert.deepEqual(tasks[0]?.output, { policy: 'P-1', issue: 'escape' })
    assert.match(ended.stderr, /task facts edited by ada$/m)
    const note = await folder.reprise('fork', '--run', 'first', '--output', 'note=Not urgent')
    assert.equal(note.stdout, 'Not urgent\n')
  })

  test('fork refuses an output that does not fit, an unknown task, and an editor without a terminal', async () => {
    await using folder = await withRun()
    for (const [args, code, words] of [
      [['--output', 'facts=oops'], 2, '--output facts is not JSON'],
      [['--output', 'facts={"policy":1}'], 2, 'does not fit the schema of task facts'],
      [['--output', 'facts'], 2, 'task=text, task=@file or task:=json'],
      [['--output', 'note=a', '--output', 'note=b'], 2, '--output note is given twice'],
      [['--output', 'fatcs=1'], 5, 'did you mean facts?'],
      [['--edit', 'note'], 2, 'cannot be edited without a terminal; give the value with --output'],
    ] as const) {
      const ended = await folder.reprise('fork', ...args)
      assert.equal(ended.code, code, ended.stderr)
      assert.ok(ended.stderr.startsWith('error: ') && ended.stderr.includes(words), ended.stderr)
    }
  })

  test('refresh executes only what changed code made stale', async () => {
    await using folder = await withRun()
    await folder.write('crew.ts', claims.replace('Write a triage note in', 'Write a triage note, short, in'))
    const ended = await folder.reprise('refresh')
    assert.equal(ended.code, 0)
    assert.match(ended.stderr, /^ {2}inherit {2}facts/m)
    assert.match(ended.stderr, /^ {2}execute {2}note {3}description changed/m)
  })

  test('refresh with nothing stale says so, makes no run and prints the result of the run', async () => {
    await using folder = await withRun()
    const ended = await folder.reprise('refresh')
    assert.equal(ended.code, 0)
    assert.match(ended.stderr, /^nothing in run first is stale, so no run is created\nrun first completed before; /)
    assert.match(ended.stdout, /^Urgentcalm/)
    assert.deepEqual(
      records(await folder.reprise('refresh', '--json')).map((run) => [run['runId'], run['status']]),
      [['first', 'completed']],
    )
    assert.match((await folder.reprise('refresh', '--dry-run')).stderr, /^nothing is stale\n$/)
    assert.equal(records(await folder.reprise('runs', '--json')).length, 1)
  })

  test('backtest compares outputs and keeps its runs out of latest', async () => {
    await using folder = await withRun()
    await folder.write('crew.ts', claims.replace("'Urgent'", "'Soon'"))
    const ended = await folder.reprise('backtest', 'note', '--runs', '5', '--id', 'trial')
    assert.equal(ended.code, 0)
    assert.match(ended.stderr, /^Backtest of note on 1 earlier run: about \d+ tokens/)
    assert.match(
      ended.stdout,
      /1 different, 0 failed\n {2}first {2}different\n {4}old: Urgentcalm.*\n {4}new: Sooncalm/,
    )
    const [report] = records(
      await folder.reprise('backtest', '-t', 'note', '--run', 'first', '--id', 'trial', '--json'),
    )
    assert.equal(report?.['different'], 1)
    const ids = async (...args: string[]): Promise<unknown[]> =>
      records(await folder.reprise('runs', '--json', ...args)).map((run) => run['runId'])
    assert.deepEqual(await ids(), ['first'])
    assert.deepEqual(await ids('--backtests'), ['trial:first'])
    assert.deepEqual(await ids('--backtests', '--crew', 'claims'), ['trial:first'])
    assert.match((await folder.reprise('show', 'latest')).stdout, /^run +first$/m)
    assert.equal((await folder.reprise('backtest', '-t', 'note', '--run', 'first', '--runs', '2')).code, 2)
  })
})
