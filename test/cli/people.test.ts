import assert from 'node:assert/strict'
import { userInfo } from 'node:os'
import { describe, test } from 'node:test'
import { filing, imports, project, records, runIn, type Ended, type Project } from './support.ts'

/** Stops a run with this signal while its tool, which must not run twice, is under way. */
async function stopInTool(folder: Project, signal: NodeJS.Signals): Promise<Ended> {
  const started = folder.start(['run'], { HANG: '1' })
  await started.says('file_claim called')
  started.child.kill(signal)
  return started.ended()
}

/** A flow that asks for a text and for an object. */
const asking = `${imports}
export const flow = new Flow({
  name: 'order',
  async run(flow) {
    const number = await flow.ask('number', { text: 'Which policy?', about: { holder: 'Ada' } })
    const { amount } = await flow.ask('amount', 'How much?', z.object({ amount: z.number() }))
    return \`\${number}: \${amount}\`
  },
})
`

/** A crew whose one task is a crew that asks a person. */
const within = `${imports}
const model = scriptedModel([{ when: 'Task:', reply: 'found' }])
const agent = new Agent({ role: 'A', goal: 'g', model })
const find = new Task({ name: 'find', description: 'Find', agent, humanInput: true })
const research = new Task({ name: 'the research', crew: new Crew({ name: 'inner', tasks: [find] }) })
export const crew = new Crew({ name: 'outer', tasks: [research] })
`

function callsOf(summary: { [name: string]: unknown } | undefined): number | undefined {
  return (summary?.['usage'] as { calls: number } | undefined)?.calls
}

describe('on the command line,', { concurrency: 4 }, () => {
  test('Ctrl-C stops a run and prints the command that continues it', async () => {
    await using folder = await project(filing)
    const stopped = await stopInTool(folder, 'SIGINT')
    const run = runIn(stopped)
    assert.equal(stopped.code, 3)
    assert.ok(
      stopped.stderr.endsWith(`Run ${run} was stopped; continue with: npx reprise resume ${run}\n`),
      stopped.stderr,
    )
    assert.equal(records(await folder.reprise('runs', '--json'))[0]?.['status'], 'stopped')
  })

  test('a call in doubt asks with code 3, and the run continues after the answer', async () => {
    await using folder = await project(filing)
    const run = runIn(await stopInTool(folder, 'SIGINT'))
    const asked = await folder.reprise('resume', 'latest')
    assert.equal(asked.code, 3)
    assert.equal(asked.stdout, '')
    assert.ok(asked.stderr.includes(`Did file_claim({"policy":"P-77"}) happen?`))
    const command = `  answer (run, happened, fail) with this; in scripts, add --decision:\n  npx reprise answer ${run} q1\n`
    assert.ok(asked.stderr.includes(command))
    assert.ok((await folder.reprise('show', run)).stdout.includes(command))

    const answered = await folder.reprise(
      'answer',
      'latest',
      'q1',
      '--decision',
      'happened',
      '--result',
      '{"claim":"C-42"}',
    )
    assert.equal(answered.code, 0)
    assert.ok(answered.stderr.endsWith(`continue with: npx reprise resume ${run}\n`))
    const resumed = await folder.reprise('resume', run)
    assert.deepEqual({ code: resumed.code, stdout: resumed.stdout }, { code: 0, stdout: 'Filed: C-42\n' })
    const entries = records(await folder.reprise('show', run, '--steps', '--json'))
    const answer = entries.find((entry) => entry['type'] === 'question.answered')?.['answer']
    assert.deepEqual(answer, { decision: 'happened', result: { claim: 'C-42' }, by: userInfo().username })
  })

  test('the questions of a flow show what they are about, and take a value: a text as it is, anything else as JSON', async () => {
    await using folder = await project(asking)
    const asked = await folder.reprise('run')
    assert.equal(asked.code, 3, asked.stderr)
    assert.match(asked.stderr, /Which policy\?\n[^]*{"holder":"Ada"}[^]*answer \(answer, fail\) with this/)
    const value = (question: string, text: string): Promise<Ended> =>
      folder.reprise('answer', 'latest', question, '--decision', 'answer', '--value', text)
    assert.equal((await value('q1', '007')).code, 0)
    assert.match((await folder.reprise('resume')).stderr, /How much\?/)
    const bad = await value('q2', '{amount')
    assert.equal(bad.code, 2)
    assert.match(bad.stderr, /--value is not JSON/)
    assert.equal((await value('q2', '{"amount":5}')).code, 0)
    assert.equal((await folder.reprise('resume')).stdout, '007: 5\n')
  })

  test('a run whose result a person must approve prints the result, as do show and tail', async () => {
    await using folder = await project(within)
    const asked = await folder.reprise('run', '--id', 'r1')
    assert.equal(asked.code, 3)
    const inner = ' {2}task find of crew inner, run r1\\/the research#1\\n'
    const shown = (above: string): RegExp =>
      new RegExp(
        `question .+ \\(result\\), task the research/find: .*\\n${above}${inner} {2}│ found\\n {2}answer \\(approve, .*\\n {2}npx reprise answer r1 `,
      )
    const all = shown(' {2}task the research of crew outer, run r1\\n')
    assert.match(asked.stderr, all)
    assert.match((await folder.reprise('tail', 'r1')).stderr, all)
    assert.match((await folder.reprise('show', 'r1')).stdout, shown(''))
  })

  test('a waiting run ends with its question, wrapped at words, and each command on its own line', async () => {
    await using folder = await project(filing)
    const run = runIn(await stopInTool(folder, 'SIGINT'))
    const decide = '  answer (run, happened, fail) with this; in scripts, add --decision:'
    const answer = `  npx reprise answer ${run} q1`
    for (const command of ['resume', 'tail']) {
      const { stderr } = await folder.call([command, run], { seen: true })
      const lines = stderr.slice(stderr.indexOf(`run ${run} waits`)).split('\n')
      const [first = '', ...rows] = lines.slice(2, -5)
      assert.deepEqual(lines.slice(0, 2), [`run ${run} waits for 1 answer`, ''])
      assert.match(first, /^question q1 \(doubt\), task file: Did file_claim/)
      assert.ok(rows.length > 0 && rows.every((row) => /^ {2}\S/.test(row) && row.length <= 80), stderr)
      assert.deepEqual(lines.slice(-5), [decide, answer, '', `then continue with: npx reprise resume ${run}`, ''])
    }
  })

  test('the question of a nested crew is shown and answered through the outer run', async () => {
    await using folder = await project(within)
    const asked = await folder.reprise('run')
    const run = runIn(asked)
    const command = `npx reprise answer ${run} 'the research/q1'\n`
    assert.equal(asked.code, 3)
    assert.ok(asked.stderr.includes(command), asked.stderr)
    const shown = await folder.reprise('show', run)
    assert.ok(shown.stdout.includes(command) && shown.stdout.includes('waits for 1 answer'), shown.stdout)
    assert.ok((await folder.reprise('tail', run)).stderr.includes(command))
    const answered = await folder.reprise('answer', run, 'the research/q1', '--decision', 'approve')
    assert.deepEqual([answered.code, answered.stderr.includes('still open')], [0, false])
    assert.equal((await folder.reprise('resume', run)).stdout, 'found\n')
  })

  test('a child run is listed with --children, and its cost is part of its parent otherwise', async () => {
    await using folder = await project(within)
    const run = runIn(await folder.reprise('run'))
    const listed = records(await folder.reprise('runs', '--json'))
    assert.deepEqual(
      listed.map(({ runId, caller, openQuestions }) => [runId, caller, openQuestions]),
      [[run, undefined, 1]],
    )
    assert.equal(callsOf(listed[0]), 1)
    assert.deepEqual(
      records(await folder.reprise('runs', '--children', '--json')).map(({ runId, caller }) => [runId, caller]),
      [
        [`${run}/the research#1`, run],
        [run, undefined],
      ],
    )
    const short = run.slice(0, 13)
    assert.equal(records(await folder.reprise('show', short, '--json'))[0]?.['runId'], run)
    const narrow = await folder.call(['runs'], { seen: true })
    assert.match(narrow.stdout, new RegExp(`^.*${run.slice(0, 8)} `, 'm'))
    await folder.reprise('answer', run, 'the research/q1', '--decision', 'approve')
    await folder.reprise('resume', run)
    const [done] = records(await folder.reprise('runs', '--json'))
    assert.deepEqual([done?.['openQuestions'], callsOf(done)], [0, 1])
  })

  test('runs, show and show --tasks agree on what a nested crew has used so far', async () => {
    await using folder = await project(within)
    await folder.reprise('run', '--id', 'r1')
    const [listed] = records(await folder.reprise('runs', '--json'))
    const [shown] = records(await folder.reprise('show', 'r1', '--json'))
    const [task] = records(await folder.reprise('show', 'r1', '--tasks', '--json'))
    assert.equal(callsOf(shown), 1)
    assert.deepEqual([listed?.['usage'], task?.['usage']], [shown?.['usage'], shown?.['usage']])
    assert.equal(task?.['status'], 'waiting')
  })

  test('runs --waiting lists each question once, the oldest first, with the command that answers it', async () => {
    await using folder = await project(within)
    await folder.write('filing.ts', filing)
    assert.equal((await folder.reprise('runs', '--waiting')).stderr, 'no run waits for a person\n')
    await folder.reprise('run', '--id', 'first')
    await folder.reprise('run', '--id', 'second')
    const started = folder.start(['run', 'filing.ts', '--id', 'filed'], { HANG: '1' })
    await started.says('file_claim called')
    started.child.kill('SIGINT')
    await started.ended()
    await folder.reprise('resume', 'filed', '--file', 'filing.ts')
    const [one, two, three, ...more] = records(await folder.reprise('runs', '--waiting', '--json'))
    assert.deepEqual(
      [one, two, three].map((asked) => [
        asked?.['runId'],
        asked?.['crew'],
        asked?.['id'],
        asked?.['kind'],
        asked?.['task'],
      ]),
      [
        ['first', 'outer', 'the research/q1', 'result', 'the research'],
        ['second', 'outer', 'the research/q1', 'result', 'the research'],
        ['filed', 'filing', 'q1', 'doubt', 'file'],
      ],
    )
    assert.deepEqual(more, [])
    assert.equal(one?.['command'], "npx reprise answer first 'the research/q1'")
    assert.deepEqual(three?.['decisions'], ['run', 'happened', 'fail'])
    assert.match(String(one?.['askedAt']), /^\d{4}-\d\d-\d\dT/)
    const { stdout } = await folder.reprise('runs', '--waiting', '--crew', 'outer')
    const { stderr } = await folder.reprise('runs', '--waiting', '--crew', 'other')
    assert.equal(stderr, 'no run of crew other waits for a person\n')
    assert.match(
      stdout,
      /^the research\/q1 {2}result, task the research\/find of run first of crew outer, since \d{4}-.*\n {2}\S.*\n {2}answer \(approve, .*\n {2}npx reprise answer first /,
    )
    assert.equal(stdout.match(/reprise answer/g)?.length, 2)
    await folder.reprise('answer', 'first', 'the research/q1', '--decision', 'approve')
    await folder.reprise('cancel', 'second', '--yes')
    assert.deepEqual(
      records(await folder.reprise('runs', '--waiting', '--json')).map(({ runId }) => runId),
      ['filed'],
    )
  })

  test('runs distinguishes a run that waits for a person from one that has its answer', async () => {
    await using folder = await project(within)
    await folder.reprise('run', '--id', 'asking')
    await folder.reprise('run', '--id', 'answered')
    await folder.reprise('answer', 'answered', 'the research/q1', '--decision', 'approve')
    const { stdout } = await folder.reprise('runs')
    assert.match(stdout, /^answered +outer +queued .*\nasking +outer +waiting /m)
    for (const [status, run] of [
      ['waiting', 'asking'],
      ['queued', 'answered'],
    ] as const)
      assert.deepEqual(
        records(await folder.reprise('runs', '--json', '--status', status)).map(({ runId }) => runId),
        [run],
      )
    const [queued] = records(await folder.reprise('show', 'answered', '--json'))
    const why = 'it waited for answered/the research#1, and now waits for a worker or a resume'
    assert.deepEqual([queued?.['status'], queued?.['why']], ['queued', why])
    assert.match((await folder.reprise('show', 'answered')).stderr, /continue with: npx reprise resume answered\n$/)
  })

  test('a child run is never the latest, and answering it names the command that continues its parent', async () => {
    await using folder = await project(within)
    const run = runIn(await folder.reprise('run'))
    const [latest] = records(await folder.reprise('show', 'latest', '--json'))
    assert.equal(latest?.['runId'], run)
    const answered = await folder.reprise('answer', `${run}/the research#1`, 'q1', '--decision', 'approve')
    assert.ok(answered.stderr.endsWith(`continue with: npx reprise resume ${run}\n`), answered.stderr)
    assert.equal((await folder.reprise('resume', 'latest')).stdout, 'found\n')
  })

  test('an answer that does not fit is refused with the ones that do, and a second answer is reported as late', async () => {
    await using folder = await project(filing)
    await stopInTool(folder, 'SIGINT')
    await folder.reprise('resume')
    const answer = (...args: string[]): Promise<Ended> => folder.reprise('answer', 'latest', ...args)
    const unfit = await answer('q1', '--decision', 'approve')
    assert.equal(unfit.code, 2)
    assert.match(unfit.stderr, /^error: .*"?approve"?.*\n$/)
    assert.match(unfit.stderr, /run.*happened.*fail/)
    assert.match((await answer('q1', '--decision', 'happened', '--result', 'C-1')).stderr, /--result is not JSON/)
    const unknown = await answer('q9', '--decision', 'run')
    assert.equal(unknown.code, 5)
    assert.match(unknown.stderr, /open are q1/)
    assert.equal((await answer('q1', '--decision', 'run', '--by', 'ada', '--note', 'checked')).code, 0)
    const late = await answer('q1', '--decision', 'run')
    assert.equal(late.code, 1)
    assert.match(late.stderr, /^error: .* already has an answer, .*; look at it with: npx reprise show \S+\n$/)
    assert.equal((await folder.reprise('resume')).stdout, 'Filed: C-1\n')
  })

  test('a run whose process was killed is listed as abandoned and can be resumed at once', async () => {
    await using folder = await project(filing)
    const run = runIn(await stopInTool(folder, 'SIGKILL'))
    assert.match((await folder.reprise('runs')).stdout, new RegExp(`^${run} +filing +abandoned `, 'm'))
    assert.equal(records(await folder.reprise('runs', '--json', '--status', 'abandoned')).length, 1)
    assert.equal(records(await folder.reprise('runs', '--json', '--status', 'running')).length, 0)
    assert.equal((await folder.reprise('resume', run)).code, 3)
  })

  test('a run that another process executes is refused with code 4', async () => {
    await using folder = await project(filing)
    const started = folder.start(['run'], { HANG: '1' })
    await started.says('file_claim called')
    const refused = await folder.reprise('resume', 'latest')
    started.child.kill('SIGINT')
    await started.ended()
    assert.equal(refused.code, 4)
    assert.match(refused.stderr, /^error: run \S+ is held by process \d+ .*reprise show/)
  })
})
