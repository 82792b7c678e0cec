// A crew with a nested crew that itself has a nested crew, each with steps of its own.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { slowly, type SampleOptions } from '../../test/studio/sample-crews.ts'

const gauge = tool({
  name: 'read_gauge',
  description: 'Read the levels that a gauge has measured',
  effect: 'read',
  input: z.object({ station: z.string(), years: z.number() }),
  run: async ({ station }) => {
    await sleep(120)
    return { station, risePerYear: 3.6 }
  },
})

export function coastCrew({ store, pauseMs = () => 0 }: SampleOptions): Crew {
  const agent = new Agent({ role: 'Oceanographer', goal: 'Say how the sea rises' })
  const task = (name: string, description: string, expectedOutput: string): Task =>
    new Task({ name, description, expectedOutput, agent, tools: name === 'levels' ? [gauge] : [] })
  const tides = new Crew({
    name: 'tides',
    tasks: [task('levels', 'Read the gauge of {coast}', 'the levels'), task('trend', 'Name the trend', 'a sentence')],
  })
  const survey = new Crew({
    name: 'survey',
    tasks: [new Task({ name: 'tides', crew: tides }), task('harbours', 'List the harbours of {coast}', 'a list')],
  })
  const report = task('report', 'Write the report on {coast}', 'a page')
  const price = { input: 1.25, output: 10 }
  const model = scriptedModel(
    [
      { when: /Read the gauge/, calls: [{ tool: 'read_gauge', input: { station: 'Whitby', years: 20 } }] },
      { when: /Read the gauge/, reply: 'Twenty years of levels at Whitby.', usage: { input: 812, output: 64 } },
      { when: /Name the trend/, reply: 'The sea rises by **3.6 mm** a year.', usage: { input: 930, output: 41 } },
      { when: /List the harbours/, reply: '- Whitby\n- Scarborough\n- Filey', usage: { input: 402, output: 30 } },
      {
        when: /Write the report/,
        reply: '# The coast\n\nThe sea rises by **3.6 mm** a year; three harbours are concerned.',
        usage: { input: 1240, output: 180 },
      },
    ],
    { name: 'gpt-5-mini' },
  )
  return new Crew({
    name: 'coast-reports',
    tasks: [new Task({ name: 'survey', crew: survey }), report],
    store,
    prices: { 'gpt-5-mini': price },
  }).with({ model: slowly(model, pauseMs) })
}
