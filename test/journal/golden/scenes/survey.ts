// A survey of two rooms: a task for each item of a list, a nested crew that asks a person and continues without a
// failed task, a crew kicked off by a function, delegation, and tasks that are skipped because another failed.
import { Agent, Crew, Task, tool, type Answer } from 'reprise'
import { z } from 'zod'
import { before, fail, finishRun, untilDeath, type Life, type Scene } from '../lab.ts'

export const survey: Scene = {
  async record({ life, save, saveFinished }) {
    // dies while it measures the second room
    let measured = 0
    const inSecondRoom = (types: readonly string[]) =>
      types.includes('tool.returned') && ++measured === 2 ? ('before' as const) : undefined
    await untilDeath(surveys(life(inSecondRoom)).kickoff({ id: 'survey' }))
    await save('killed', 'survey', 'done')
    const crew = surveys(life())
    await crew.resume('survey')
    await crew.run('survey').answer('inspect/q1', answer())
    await save('woken', 'survey', 'done')
    // dies after the nested crew has executed `sign`
    await untilDeath(surveys(life(before('task.skipped'))).resume('survey'))
    await saveFinished('done', 'survey')
  },
  finish,
}

function finish(life: Life, run: string) {
  return finishRun(life, surveys(life), run, answer)
}

function answer(): Answer {
  return { decision: 'replace', output: 'sound, but damp', by: 'Bob' }
}

function surveys(life: Life) {
  const { did, options } = life
  const measure = tool({
    name: 'measure',
    description: 'Measures a room',
    effect: 'once',
    input: z.object({ room: z.string() }),
    run: ({ room }) => 10 + did(`measure ${room}`),
    settle: (_, { room }) => ({ happened: true, result: `about 10, the ${room}` }),
  })
  const model = life.model([
    ...['hall', 'loft'].flatMap((room) => [
      { when: `Task: Measure the ${room}`, after: 0, calls: [{ tool: 'measure', input: { room } }] },
      { when: `Task: Measure the ${room}`, reply: `The ${room} is measured.` },
    ]),
    { when: 'Task: Inspect', reply: 'sound' },
    { when: 'Task: Greet', reply: 'Good morning!' },
    { when: 'Is it damp?', reply: 'A little.' },
    {
      when: 'Task: Conclude',
      after: 0,
      calls: [{ tool: 'ask_coworker', input: { coworker: 'Expert', question: 'Is it damp?', context: 'a loft' } }],
    },
    { when: 'Task: Conclude', reply: 'Buy it.' },
  ])
  const surveyor = new Agent({ role: 'Surveyor', goal: 'Survey', model, tools: [measure], allowDelegation: true })
  const expert = new Agent({ role: 'Expert', goal: 'Know', model })

  const rooms = new Task({ name: 'rooms', effect: 'read', run: () => ['hall', 'loft'] })
  const measures = new Task({
    name: 'measure',
    description: 'Measure the {item}',
    agent: surveyor,
    context: [rooms],
    forEach: ({ outputs }) => outputs.rooms,
  })
  const sign = new Task({ name: 'sign', run: () => `signed ${did('sign')}` })
  const inspecting = new Crew({
    ...options,
    name: 'inspecting',
    onTaskFailure: 'continue',
    tasks: [
      new Task({ name: 'look', description: 'Inspect the house', agent: expert, humanInput: true }),
      sign,
      new Task({
        name: 'drone',
        effect: 'read',
        context: [],
        run: () => fail(new TypeError(`no drone ${did('drone')}`), { code: 7 }),
      }),
      new Task({ name: 'roof', effect: 'read', context: [sign], when: () => false, run: () => 'never' }),
    ],
  })
  const inspect = new Task({ name: 'inspect', crew: inspecting, context: [] })
  const greeting = new Crew({
    ...options,
    name: 'greeting',
    tasks: [new Task({ name: 'greet', description: 'Greet {who}', agent: expert })],
  })
  const greet = new Task({
    name: 'greet',
    effect: 'idempotent',
    context: [],
    // the queued run is not part of this one, so its usage does not count here
    async run({ runId }) {
      await greeting.enqueue({ id: `${runId}-later`, inputs: { who: 'Bob' } })
      return String(await greeting.kickoff({ inputs: { who: 'Ada' } }))
    },
  })
  const permit = new Task({
    name: 'permit',
    effect: 'read',
    context: [],
    run: () => fail(new Error(`no permit ${did('permit')}`)),
  })
  const permitted = new Task({ name: 'permitted', description: 'Never', agent: expert, context: [permit] })
  const conclude = new Task({ name: 'conclude', description: 'Conclude', agent: surveyor })
  return new Crew({
    ...options,
    name: 'surveys',
    agents: [surveyor, expert],
    onTaskFailure: 'continue',
    tasks: [rooms, measures, inspect, greet, permit, permitted, conclude],
  })
}
