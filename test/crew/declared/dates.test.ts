// Agents with injectDate: which date, in which format, and that an attempt keeps it whatever day it is resumed on.
import assert from 'node:assert/strict'
import { test, type TestContext } from 'node:test'
import { Agent, Crew, Task, type AgentOptions } from 'reprise'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { formatDate } from '../../../src/text/date-format.ts'

const model = () => scriptedModel([{ when: '', reply: 'done' }])

function on(context: TestContext, day: string): void {
  context.mock.timers.reset()
  context.mock.timers.enable({ apis: ['Date'], now: new Date(`${day}T12:00:00`) })
}

function office(options: Partial<AgentOptions>, asked = model()) {
  const agent = new Agent({ role: 'Clerk', goal: 'g', model: asked, ...options })
  const store = memoryStore()
  const tasks = [new Task({ name: 'note', description: 'd', agent, humanInput: true })]
  return { asked, crew: new Crew({ name: 'dates', tasks, store }) }
}

test('the instructions of an agent with injectDate end with the date, those of another agent do not', async (context) => {
  on(context, '2026-03-04')
  for (const [options, end] of [
    [{ injectDate: true }, "\n\nToday's date: 2026-03-04"],
    [{ injectDate: true, dateFormat: '%A, %d %B %Y' }, "\n\nToday's date: Wednesday, 04 March 2026"],
  ] as const) {
    const { crew, asked } = office(options)
    await crew.kickoff()
    assert.ok(asked.calls[0]?.instructions.endsWith(end), asked.calls[0]?.instructions)
  }
  const { crew, asked } = office({ dateFormat: '%Y' })
  await crew.kickoff()
  assert.doesNotMatch(asked.calls[0]?.instructions ?? '', /date/)
})

test('an attempt keeps the date on which it began, and a new one has its own', async (context) => {
  on(context, '2026-03-04')
  const { crew, asked } = office({ injectDate: true })
  await crew.kickoff({ id: 'one' })
  on(context, '2026-03-05')
  const { questions } = await crew.run('one').view()
  await crew.run('one').answer(questions[0]?.id ?? '', { decision: 'revise', feedback: 'shorter' })
  await crew.resume('one')
  assert.deepEqual(
    asked.calls.map(({ instructions }) => instructions.slice(-10)),
    ['2026-03-04', '2026-03-04'],
  )
  await crew.replay('note', { runId: 'one' })
  assert.match(asked.calls.at(-1)?.instructions ?? '', /2026-03-05$/)
})

test('a coworker with injectDate gets the date too', async (context) => {
  on(context, '2026-03-04')
  const asked = scriptedModel([
    {
      when: /You are Boss/,
      calls: [{ tool: 'delegate_work', input: { coworker: 'Clerk', task: 'count', context: '' } }],
    },
    { when: '', reply: 'done' },
  ])
  const boss = new Agent({ role: 'Boss', goal: 'g', model: asked, allowDelegation: true })
  const clerk = new Agent({ role: 'Clerk', goal: 'g', model: asked, injectDate: true })
  const tasks = [new Task({ name: 'note', description: 'd', agent: boss })]
  await new Crew({ name: 'dates', agents: [boss, clerk], tasks, store: memoryStore() }).kickoff()
  const told = asked.calls.filter(({ instructions }) => instructions.endsWith("Today's date: 2026-03-04"))
  assert.deepEqual(
    told.map(({ instructions }) => instructions.slice(0, 13)),
    ['You are Clerk'],
  )
})

test('every code of a date format is written as strftime writes it', () => {
  const noon = new Date(2026, 2, 4, 15, 6, 7)
  assert.equal(
    formatDate('%Y %y %m %B %b %d %A %a %H %I %p %M %S 100%%', noon),
    '2026 26 03 March Mar 04 Wednesday Wed 15 03 PM 06 07 100%',
  )
  assert.equal(formatDate('%I %p', new Date(2026, 0, 1, 0)), '12 AM')
})

test('a date format without a code, or with an unknown one, is refused', () => {
  for (const dateFormat of ['today', '', '%Q', '%Y %', '100%%', 7 as never]) {
    assert.throws(() => new Agent({ role: 'Clerk', goal: 'g', dateFormat }), {
      code: 'OPTION_INVALID',
      message: /^dateFormat of agent "Clerk" is .*; give a format such as `%d %B %Y`, made of %Y, %y, /,
    })
  }
})
