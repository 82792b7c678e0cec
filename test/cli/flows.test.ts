// Flows on the command line.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { imports, project, records } from './support.ts'

const flows = `${imports}
const fails = process.env.FAILS === '1'
export const pays = new Flow({
  name: 'pays',
  inputs: z.object({ count: z.number().int() }),
  async run(flow) {
    const ids = await flow.step('list', { effect: 'read' }, () => Array.from({ length: flow.inputs.count }, (_, n) => 'c' + n))
    const all = await Promise.allSettled(ids.map((id, n) => flow.step('pay', { key: id, effect: 'read', input: id }, () => {
      if (process.env.FAILS === '1' && n < 2) throw new Error('no ' + id)
      return { paid: id }
    })))
    const answer = await flow.ask('sure', { text: 'Go on?', about: { failed: all.filter(({ status }) => status === 'rejected').length } },
      z.object({ ok: z.boolean(), by: z.enum(['post', 'mail']), note: z.string().optional() }))
    const sent = await flow.event('sent', z.object({ at: z.number() }))
    await flow.sleep('night', { hours: 8 })
    return { answer, sent }
  },
})
`
const answered = ['--decision', 'answer', '--value', '{"ok":true,"by":"post"}'] as const

const book = `${imports}
const model = scriptedModel([
  { when: /Plan one|Plan two/, reply: 'the plan' },
  { when: 'Write one', reply: 'text one' },
  { when: 'Write two', reply: 'text two' },
])
const agent = new Agent({ role: 'Author', goal: 'g', model })
const chapter = new Crew({ name: 'chapter', tasks: [
  new Task({ name: 'plan', description: 'Plan {title}', agent }),
  new Task({ name: 'write', description: 'Write {title}', agent, humanInput: process.env.REVIEW === '1' }),
] })
export const book = new Flow({
  name: 'book',
  async run(flow) {
    const titles = await flow.step('outline', { effect: 'read' }, () => ['one', 'two'])
    const texts = await Promise.all(titles.map((title) => flow.run(chapter, { title }, { key: title })))
    return flow.step('bind', { input: texts.map(String), effect: 'read' }, (all) => all.join(' + '))
  },
})
`

describe('on the command line, a step of a flow', () => {
  test('is where a replay, a fork or a plan starts, also a task within it', async () => {
    await using folder = await project(book)
    assert.equal((await folder.reprise('run', '--id', 'first')).code, 0)
    const plan = await folder.reprise('plan', '--from', 'chapter[two]/write')
    assert.match(plan.stdout, /execute +chapter\[two\] +its child run starts at write/)
    assert.match(plan.stdout, /inherit +chapter\[one\]/)
    const replayed = await folder.reprise('replay', 'chapter[two]/write', '--id', 'second', '--yes')
    assert.equal(replayed.code, 0, replayed.stderr)
    assert.equal((await folder.reprise('replay', 'chapter', '--run', 'first', '--dry-run')).code, 0)
    // it was inherited by the second run
    const again = await folder.reprise('replay', 'chapter[one]/write', '--run', 'second', '--yes')
    assert.equal(again.code, 0, again.stderr)
    const unknown = await folder.reprise('replay', 'bound', '--run', 'first', '--yes')
    assert.match(unknown.stderr, /run first has no step bound; it has outline, chapter\[one\], chapter\[two\], bind/)
    assert.equal(unknown.code, 5)
  })

  test('is given an output in a fork: a text if it returned one', async () => {
    await using folder = await project(book)
    await folder.reprise('run', '--id', 'first')
    const forked = await folder.reprise('fork', '--output', 'chapter[one]=12', '--id', 'second', '--yes')
    assert.equal(forked.stdout, '12 + text two\n', forked.stderr)
    const plan = await folder.reprise('plan', '--run', 'first', '--output', 'outline=["one"]')
    assert.match(plan.stdout, /edit +outline/)
  })

  test('is the last one of a run that goes through it', async () => {
    await using folder = await project(book)
    const stopped = await folder.reprise('run', '--id', 'first', '--through', 'chapter')
    assert.equal(stopped.code, 3)
    assert.match(stopped.stderr, /Run first stopped after task chapter, as requested/)
    const list = await folder.reprise('show', 'first', '--tasks')
    assert.match(list.stdout, /chapter\[two\] .* executed/)
    assert.doesNotMatch(list.stdout, /bind/)
    assert.equal((await folder.reprise('resume', 'first')).stdout, 'text one + text two\n')
  })

  test('is backtested, with all of its keys, or a task within it', async () => {
    await using folder = await project(book)
    await folder.reprise('run', '--id', 'first')
    await folder.write('crew.ts', book.replace('text two', 'other two'))
    const tested = await folder.reprise('backtest', 'chapter', '--yes', '--id', 'trial')
    assert.match(tested.stderr, /^Backtest of chapter on 1 earlier run, 2 trials: about \d+ tokens/)
    assert.match(tested.stdout, /1 equal, 1 different, 0 failed\n {2}first chapter\[one\] {2}equal\n/)
    assert.match(tested.stdout, /first chapter\[two\] {2}different\n {4}old: text two\n {4}new: other two/)
    const within = await folder.reprise('backtest', 'chapter[two]/write', '--run', 'first', '--yes')
    assert.match(within.stdout, /Backtest of chapter\[two\]\/write on 1 run: 0 equal, 1 different/)
    await folder.write('crew.ts', book.replace("'outline'", "'contents'"))
    const untried = await folder.reprise('backtest', 'outline', '--yes')
    assert.match(untried.stdout, /first {2}not tried: today's code requests contents before it/, untried.stderr)
  })

  test('is not backtested if it waits', async () => {
    await using folder = await project(flows)
    await folder.reprise('run', '--id', 'p', '--input', 'count:=1')
    const refused = await folder.reprise('backtest', 'sure', '--yes')
    assert.match(refused.stderr, /step sure is a question, which executes nothing/)
  })
})

describe('on the command line, a task within a step', () => {
  test('is shown, also if its run was inherited, and edited or invalidated while it waits', async () => {
    await using folder = await project(book)
    const variables = { REVIEW: '1' }
    await folder.call(['run', '--id', 'first'], { variables })
    const shown = await folder.reprise('show', 'first', '--task', 'chapter[two]/write')
    assert.match(shown.stdout, /^run +first\/chapter\[two\]#1$/m)
    assert.match(shown.stdout, /│ text two/)
    const edited = await folder.call(['edit', 'first', 'chapter[two]/write', '--output', 'mine'], { variables })
    assert.equal(edited.code, 0, edited.stderr)
    assert.equal((await folder.reprise('invalidate', 'first', 'chapter[one]/plan')).code, 0)
    await folder.call(['answer', 'first', 'chapter[one]/q1', '--decision', 'approve'], { variables })
    const done = await folder.call(['resume', 'first'], { variables })
    assert.equal(done.stdout, 'text one + mine\n', done.stderr)
    await folder.reprise('replay', 'bind', '--run', 'first', '--id', 'second', '--yes')
    const inherited = await folder.reprise('show', 'second', '--task', 'chapter[one]/write')
    assert.match(inherited.stdout, /^run +first\/chapter\[one\]#1$/m)
    assert.match(inherited.stderr, /replay --run second -t 'chapter\[one\]\/write'/)
    assert.match(
      (await folder.reprise('show', 'first', '--task', 'bind/write')).stderr,
      /task bind of run first has no child run/,
    )
  })
})

describe('on the command line, a flow', () => {
  test('is run, answered, sent an event, woken early by an edit, and completed', async () => {
    await using folder = await project(flows)
    const asked = await folder.reprise('run', '--id', 'r1', '--input', 'count:=2')
    assert.equal(asked.code, 3)
    assert.match(
      asked.stderr,
      /question q1 \(value\), task sure: Go on\?\n {2}│ \{"failed":0\}\n {2}answer \(answer, fail\)/,
    )
    assert.equal((await folder.reprise('answer', 'r1', 'q1', ...answered)).code, 0)
    assert.match((await folder.reprise('resume', 'r1')).stderr, /Run r1 waits for an event; /)
    assert.match(
      (await folder.reprise('send', 'r1')).stderr,
      /no event is named; run r1 waits for sent; send one with: npx reprise send r1 sent\n/,
    )
    const sent = await folder.reprise('send', 'r1', 'sent', '{"at":7}', '--id', 'e1', '--by', 'Ada', '--json')
    assert.deepEqual(records(sent), [{ runId: 'r1', event: 'sent', value: { at: 7 }, id: 'e1', by: 'Ada' }])
    assert.match(sent.stderr, /a worker will continue the run; without one, continue with: npx reprise resume r1/)
    const slept = await folder.reprise('resume', 'r1')
    assert.match(
      slept.stderr,
      /Run r1 sleeps until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d; a worker continues it then; without one, /,
    )
    assert.match(
      (await folder.reprise('tail', 'r1')).stderr,
      /run r1 sleeping: it sleeps until .*; a worker continues it/,
    )
    assert.equal((await folder.reprise('edit', 'r1', 'night', '--output', 'null')).code, 0)
    const done = await folder.reprise('resume', 'r1')
    assert.deepEqual(JSON.parse(done.stdout), { answer: { ok: true, by: 'post' }, sent: { at: 7 } })
    assert.equal((await folder.reprise('send', 'r1', 'sent')).code, 1)
  })

  test('is listed with its steps done, and shown with the steps of each name, at most eight of them', async () => {
    await using folder = await project(flows)
    await folder.call(['run', '--id', 'r1', '--input', 'count:=12'], { variables: { FAILS: '1' } })
    assert.match((await folder.reprise('runs')).stdout, /^r1 .* waiting .* 11 steps +2 /m)
    const { stdout } = await folder.reprise('show', 'r1')
    assert.match(stdout, /^status {3}waiting: it waits for 1 answer \(11 steps done, 2 failed\)$/m)
    assert.match(stdout, /^waits {4}sure waits for an answer$/m)
    assert.match(stdout, /^pay {2}2 failed, 10 executed\n {2}failed {5}c0 {2}no c0\n {2}failed {5}c1 {2}no c1\n/m)
    assert.match(stdout, /c11 {2}\{"paid":"c11"\}\n {2}… 4 more steps\n/)
    assert.doesNotMatch(stdout, /paid":"c2"/)
    assert.match(stdout, /see one in full with: npx reprise show r1 --task 'pay\[c2\]'/)
    assert.match((await folder.reprise('show', 'r1', '--task', 'pay[c2]')).stdout, /│ \{"paid":"c2"\}/)
  })

  test('executes the failed steps that --retry names', async () => {
    await using folder = await project(flows)
    await folder.call(['run', '--id', 'r1', '--input', 'count:=4'], { variables: { FAILS: '1' } })
    assert.match(
      (await folder.reprise('resume', 'r1', '--retry', 'pay[c3]')).stderr,
      /step pay\[c3\] .* has not failed/,
    )
    const failures = async (): Promise<unknown> => records(await folder.reprise('runs', '--json'))[0]?.['failed']
    await folder.reprise('resume', 'r1', '--retry', 'pay[c1]')
    assert.equal(await failures(), 1)
    await folder.reprise('resume', 'r1', '--retry', 'failed')
    assert.equal(await failures(), 0)
  })

  test('is replayed and forked from a recorded step, and planned', async () => {
    await using folder = await project(flows)
    await folder.reprise('run', '--id', 'r1', '--input', 'count:=2')
    const planned = await folder.reprise('plan', '--run', 'r1', '--from', 'pay[c1]')
    assert.match(planned.stdout, /^ {2}inherit {2}list .*\n {2}inherit {2}pay\[c0\] .*\n {2}execute {2}pay\[c1\] /m)
    const replayed = await folder.reprise('replay', '--run', 'r1', '-t', 'pay[c1]', '--id', 'r2', '--yes')
    assert.equal(replayed.code, 3, replayed.stderr)
    assert.match(replayed.stderr, /task pay\[c0\] inherited from run r1\n.*task pay\[c1\] started/)
    const forked = await folder.reprise(
      'fork',
      '--run',
      'r1',
      '--output',
      'pay[c0]={"paid":"x"}',
      '--id',
      'r3',
      '--yes',
    )
    assert.equal(forked.code, 3, forked.stderr)
    assert.match((await folder.reprise('show', 'r3')).stdout, /edited {5}c0 {2}\{"paid":"x"\}/)
    assert.match(
      (await folder.reprise('replay', '--run', 'r1', '-t', 'pays')).stderr,
      /error: run r1 has no step pays; it has list, pay\[c0\], pay\[c1\], sure\n/,
    )
  })

  test('has one row for the keys of a name, in plans, lists of names and differences', async () => {
    await using folder = await project(flows)
    await folder.reprise('run', '--id', 'r1', '--input', 'count:=12')
    const planned = await folder.reprise('plan', '--run', 'r1', '--from', 'sure')
    assert.match(planned.stdout, /^ {2}inherit {2}pay \(12 keys\) {2}its result is recorded\n {2}execute {2}sure /m)
    assert.match(
      (await folder.reprise('edit', 'r1', 'x', '--output', '1')).stderr,
      /it has list, pay \(12 keys\), sure/,
    )
    await folder.reprise('replay', '--run', 'r1', '-t', 'sure', '--id', 'r2', '--yes')
    assert.match((await folder.reprise('diff', 'r1', 'r2')).stdout, /list, pay \(12 keys\)/)
    const { stdout, stderr } = await folder.reprise('show', 'r1', '--tasks')
    assert.match(stderr, /^steps of run r1/)
    assert.match(stdout, /^step +status +output\nlist +executed/)
  })

  test('is answered by --value alone', async () => {
    await using folder = await project(flows)
    await folder.reprise('run', '--id', 'r1', '--input', 'count:=1')
    assert.equal((await folder.reprise('answer', 'r1', 'q1', '--value', '{"ok":true,"by":"post"}')).code, 0)
    assert.match((await folder.reprise('resume', 'r1')).stderr, /Run r1 waits for an event/)
  })

  test('asks at a terminal for the value of a question, field by field', async () => {
    await using folder = await project(flows)
    await folder.reprise('run', '--id', 'r1', '--input', 'count:=1')
    const given = await folder.press(
      ['answer', 'r1', 'q1'],
      ['Your decision:', '\r'],
      ['ok:', '\r'],
      ['by:', '\u001b[B\r'],
      ['note (Enter to leave it out): ', 'soon\r'],
    )
    assert.equal(given.code, 0, given.stderr)
    const entries = records(await folder.reprise('show', 'r1', '--steps', '--json'))
    const answer = entries.find(({ type }) => type === 'question.answered')?.['answer'] as { value: unknown }
    assert.deepEqual(answer.value, { ok: true, by: 'mail', note: 'soon' })
  })

  test('refuses an event for a crew, and a value that begins like JSON but is none', async () => {
    await using folder = await project(`${flows}
export const crew = new Crew({ name: 'plain', tasks: [new Task({ name: 'go', effect: 'read', run: () => 'x' })] })`)
    await folder.reprise('run', 'crew.ts', '--crew', 'plain', '--id', 'r1')
    const refused = await folder.reprise('send', 'r1', 'go')
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /crew plain is not a flow/)
    assert.match((await folder.reprise('send', 'r1', 'go', '{x')).stderr, /the value is not JSON/)
  })
})
