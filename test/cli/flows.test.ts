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
    assert.match((await folder.reprise('send', 'r1')).stderr, /no event is named; run r1 waits for sent/)
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
