import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { claims, filing, imports, project, records, terminal, type Project } from './support.ts'

const inputs = ['--input', 'notes=Water', '--input', 'tone=calm']
const enter = '\r'
const down = '\u001b[B'
const esc = '\u001b'

async function withRuns(): Promise<Project> {
  const folder = await project(claims)
  await folder.reprise('run', '--id', 'claim-a', '--through', 'facts', ...inputs)
  await folder.reprise('run', '--id', 'claim-b', '--through', 'facts', ...inputs)
  await folder.reprise('run', '--id', 'other', ...inputs)
  return folder
}

describe('an argument that is missing or ambiguous:', { concurrency: 3 }, () => {
  test('a run is picked from a list at a terminal, and required by name elsewhere', async () => {
    await using folder = await withRuns()
    // as a process: it must end although its standard input is open
    const picking = folder.start(['show'], {}, terminal)
    await picking.says('Esc for none')
    picking.child.stdin?.write(down + enter)
    const shown = await picking.ended()
    assert.match(shown.stdout, /^run +claim-b$/m)
    assert.match(shown.stderr, /Which run\? claim-b\n/)
    for (const command of ['show', 'tail', 'cancel', 'delete', 'answer', 'invalidate', 'diff']) {
      const refused = await folder.reprise(command)
      assert.equal(refused.code, 2, command)
      assert.match(
        refused.stderr,
        /^error: (no run is|the first run isn't) named; .*latest; list the runs with: npx reprise runs\n$/,
        command,
      )
    }
  })

  test('a run is picked among those with the typed beginning, and Esc cancels with code 2', async () => {
    await using folder = await withRuns()
    const shown = await folder.press(['show', 'claim'], ['Esc for none', enter])
    assert.match(shown.stdout, /^run +claim-b$/m)
    assert.doesNotMatch(shown.stderr, /other/)
    const left = await folder.press(['delete', 'claim'], ['Esc for none', esc])
    assert.equal(left.code, 2)
    assert.match(left.stderr, /error: no run was picked; .*reprise runs\n$/)
    assert.equal(records(await folder.reprise('runs', '--json')).length, 3)
  })

  test('diff asks for both runs in turn and says which one it asks for', async () => {
    await using folder = await withRuns()
    const ended = await folder.press(
      ['diff'],
      ['Esc for none', 'claim-a' + enter],
      ['Which is the first run? claim-a\n', ''],
      ['Which is the second run?', ''],
      ['Esc for none', `oth${enter}`],
    )
    assert.match(ended.stdout, /^--- run claim-a of crew claims\n.*\n\+\+\+ run other of crew claims$/m)
  })

  test('resume asks for one of several unfinished runs, and takes the only one without a question', async () => {
    await using folder = await withRuns()
    const first = await folder.press(['resume'], ['Esc for none', `-a${enter}`])
    assert.match(first.stderr, /run claim-a completed/)
    assert.doesNotMatch(first.stderr, /other/)
    const second = await folder.press(['resume'])
    assert.match(second.stderr, /run claim-b completed/)
    assert.doesNotMatch(second.stderr, /Which run/)
  })

  test('replay lists its tasks, accepts an unambiguous beginning, and requires a name elsewhere', async () => {
    await using folder = await withRuns()
    const picked = await folder.press(['replay', '--yes', '--id', 'picked'], ['Esc for none', `note${enter}`])
    assert.equal(picked.code, 0, picked.stderr)
    assert.match(picked.stderr, /Which task of crew claims\? note\n/)
    const [record] = records(await folder.reprise('replay', '-t', 'fac', '--json'))
    assert.deepEqual(record?.['parent'], { runId: 'picked', from: 'facts', deleted: false })
    for (const command of ['replay', 'backtest']) {
      const refused = await folder.reprise(command)
      assert.equal(refused.code, 2)
      assert.match(
        refused.stderr,
        /^error: no task is named; give its name or id; see them with: .*reprise show latest --tasks\n$/,
      )
    }
  })

  test('a task is found by the beginning of its name in every option for a task', async () => {
    await using folder = await project(claims)
    const run = await folder.reprise('run', '--id', 'r', '--through', 'fa', ...inputs)
    assert.match(run.stderr, /stopped after task facts/)
    for (const args of [
      ['plan', '--run', 'r', '--from', 'no', '--through', 'no', '--json'],
      ['fork', '--run', 'r', '--from', 'no', '--through', 'no', '--dry-run', '--json'],
    ]) {
      const [plan] = records(await folder.reprise(...args))
      assert.deepEqual(plan?.['execute'], ['note'], args[0])
    }
    assert.equal((await folder.reprise('resume', 'r', '--through', 'no')).code, 0)
  })

  test('a beginning of several tasks is refused with their names where there is no terminal', async () => {
    await using folder = await project(claims.replaceAll(`name: 'note'`, `name: 'factual'`))
    await folder.reprise('run', '--through', 'facts', ...inputs)
    const refused = await folder.reprise('invalidate', 'latest', 'fac')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /^error: 2 tasks of run \S+ begin with fac; give the name of one: facts, factual\n$/)
    assert.equal((await folder.reprise('invalidate', 'latest', 'facts')).code, 0)
  })

  test('answer finds the run with questions, shows the question, and asks for the decision and its fields', async () => {
    await using folder = await project(filing)
    const started = folder.start(['run', '--id', 'asks'], { HANG: '1' })
    await started.says('file_claim called')
    started.child.kill('SIGINT')
    await started.ended()
    await folder.reprise('resume', 'asks')
    await folder.reprise('fork', '--id', 'quiet', '--output', 'file=done')
    const left = await folder.press(['answer', 'asks'], ['Esc for none', esc])
    assert.equal(left.code, 2)
    assert.match(left.stderr, /nothing was answered\n$/)
    const unsaid = await folder.reprise('answer', 'asks', 'q1')
    assert.equal(unsaid.code, 2)
    assert.match(
      unsaid.stderr,
      /^error: --decision is missing; question q1 takes run, happened, fail; look at it with: npx reprise show asks\n$/,
    )
    const unnamed = await folder.reprise('answer', 'asks', '--decision', 'run')
    assert.equal(unnamed.code, 2)
    assert.match(unnamed.stderr, /^error: no question is named; open in run asks are q1: Did file_claim/)
    const answered = await folder.press(
      ['answer'],
      ['Esc for none', enter],
      ['question q1, task file: Did file_claim', ''],
      ['Your decision', `happened${enter}`],
      ['result (JSON or text): ', `{"claim":"C-42"}${enter}`],
    )
    assert.equal(answered.code, 0, answered.stderr)
    assert.doesNotMatch(answered.stderr, /quiet/)
    assert.match(
      answered.stderr,
      /answered q1 of run asks\na worker will continue the run; without one, continue with: npx reprise resume asks\n$/,
    )
    assert.equal((await folder.reprise('resume', 'asks')).stdout, 'Filed: C-42\n')
  })

  test('a question that a person left open during the run is not printed again, only how to answer it', async () => {
    await using folder = await project(filing.replace("name: 'file_claim',", "name: 'file_claim', approval: true,"))
    const left = await folder.press(['run', '--id', 'asks'], ['Esc for none', esc])
    assert.equal(left.code, 3, left.stderr)
    assert.equal(left.stderr.split('May file_claim').length, 2, left.stderr)
    assert.match(left.stderr, /\nquestion q1\n {2}answer \(approve, .*\n {2}npx reprise answer asks q1\n/)
  })

  test('answer says what continues a run of an agent', async () => {
    await using folder = await project()
    const store = `sqlite:${folder.path}/runs.db`
    const post = tool({ name: 'post', description: 'd', input: z.object({}), approval: true, run: () => 'posted' })
    const model = scriptedModel([
      { when: 'Task:', calls: [{ tool: 'post', input: {} }] },
      { when: 'Task:', reply: 'done' },
    ])
    const agent = new Agent({ role: 'Clerk', goal: 'g', model, tools: [post] })
    await agent.kickoff('Post it', { id: 'r', store })
    const answered = await folder.reprise('answer', 'r', 'q1', '--decision', 'approve', '--store', store)
    assert.match(
      answered.stderr,
      /answered q1 of run r\nthe run continues when kickoff of the agent is called again with id r\n$/,
    )
    assert.equal(String(await agent.kickoff('Post it', { id: 'r', store })), 'done')
  })

  test('answer --to raises a used-up budget', async () => {
    await using folder = await project(`${imports}
const model = scriptedModel([{ when: 'Two', reply: 'second' }, { when: 'One', reply: 'first' }])
const agent = new Agent({ role: 'Clerk', goal: 'Help', model })
const task = (name) => new Task({ name, description: name, agent })
export const crew = new Crew({ name: 'tight', tasks: [task('One'), task('Two')], budget: { tokens: 1 } })
`)
    const asked = await folder.reprise('run', '--id', 'tight')
    assert.equal(asked.code, 3, asked.stderr)
    const unfit = await folder.reprise('answer', 'tight', 'q1', '--decision', 'raise', '--to', 'tokens=many')
    assert.equal(unfit.code, 2)
    assert.match(unfit.stderr, /^error: --to has "many" as tokens; .*tokens=50000/)
    assert.equal((await folder.reprise('answer', 'tight', 'q1', '--decision', 'raise', '--to', 'tokens=99999')).code, 0)
    assert.equal((await folder.reprise('resume', 'tight')).stdout, 'second\n')
  })
})
