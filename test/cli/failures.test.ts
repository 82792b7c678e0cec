import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { imports, project, records } from './support.ts'

const pages = `${imports}
const read = ['a', 'b'].map(
  (page) =>
    new Task({
      name: 'read-' + page,
      effect: 'read',
      context: [],
      run({ inputs }) {
        if (inputs['broken'] === page) throw new Error('no page ' + page)
        return 'page ' + page
      },
    }),
)
const sum = new Task({ name: 'sum', effect: 'read', context: [read[1]], run: () => 'the sum' })
const report = new Task({
  name: 'report',
  effect: 'read',
  run: ({ outputs, missing }) => Object.values(outputs).join(', ') + ' without ' + missing.join(', '),
})
export const crew = new Crew({ name: 'pages', tasks: [...read, sum, report], onTaskFailure: 'continue' })
`

describe('a run that continues after a failed task', () => {
  test('names that task in run, runs and show, and fork --retry failed completes it', async () => {
    await using folder = await project(pages)
    const run = await folder.reprise('run', '--id', 'first', '--input', 'broken=b')
    assert.deepEqual([run.code, run.stdout], [0, 'page a without read-b, sum\n'])
    assert.match(run.stderr, /it continued without 1 task that failed:\n {2}read-b: no page b \(so sum was skipped\)/)
    assert.match(run.stderr, /try what failed again in a new run with: .*fork --run first --retry failed/)

    const listed = await folder.reprise('runs')
    assert.match(listed.stdout, /tasks +failed/)
    assert.match(listed.stdout, /completed +3\/4 +1 /)
    const shown = await folder.reprise('show', 'first')
    assert.match(shown.stdout, /^status +completed \(3 of 4 tasks done, 1 failed\)$/m)
    assert.match(shown.stdout, /^failed +read-b: no page b \(so sum was skipped\)$/m)
    assert.match(shown.stderr, /fork --run first --retry failed/)
    const [view = {}] = records(await folder.reprise('show', 'first', '--json'))
    assert.equal(view['failed'], 1)
    assert.deepEqual(
      (view['failures'] as { task: string; skipped: string[] }[]).map(({ task, skipped }) => ({ task, skipped })),
      [{ task: 'read-b', skipped: ['sum'] }],
    )

    const planned = await folder.reprise('plan', '--retry', 'failed')
    assert.match(planned.stdout, /execute {2}read-b +it failed in run first/)
    assert.match(planned.stdout, /execute {2}sum +it was skipped in run first, since read-b failed/)
    const fork = await folder.reprise('fork', '--run', 'first', '--retry', 'failed', '--input', 'broken=none')
    assert.deepEqual([fork.code, fork.stdout], [0, 'page a, page b, the sum without \n'])
    assert.doesNotMatch(fork.stderr, /continued without/)
    const nothing = await folder.reprise('fork', '--retry', 'failed')
    assert.notEqual(nothing.code, 0)
    assert.match(nothing.stderr, /no task of run .* failed, so there is nothing to retry/)
  })

  test('is counted apart in a batch of runs', async () => {
    await using folder = await project(pages)
    await folder.write('inputs.jsonl', '{"broken":"b"}\n{"broken":"none"}\n')
    const each = await folder.reprise('run', '--each', 'inputs.jsonl', '--id', 'n')
    assert.match(each.stdout, /completed +n-1 .*1 failed task; page a without/)
    assert.match(each.stdout, /completed +n-2 .*page a, page b/)
  })
})

test('show names the task that ended the run, and the task of its nested crew', async () => {
  await using folder = await project(`${imports}
const fetch = new Task({ name: 'fetch', effect: 'read', run() { throw new Error('no page') } })
const research = new Task({ name: 'research', crew: new Crew({ name: 'inner', tasks: [fetch] }) })
export const crew = new Crew({ name: 'outer', tasks: [research] })
export const on = new Crew({ name: 'on', tasks: [research], onTaskFailure: 'continue' })
`)
  await folder.reprise('run', '--crew', 'outer', '--id', 'r')
  const shown = await folder.reprise('show', 'r')
  assert.match(shown.stdout, /^error +TASK_FAILED: task research failed: its task fetch failed: no page$/m)
  const { stderr } = await folder.reprise('run', '--crew', 'on')
  assert.match(stderr, /^warning: run .*: task research failed: its task fetch failed: no page; the run continues/m)
})
