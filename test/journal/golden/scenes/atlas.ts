// Forks: with other inputs, with an edited output, of a run that has lost an entry, and the trial of a backtest.
import { Agent, Crew, Task, tool, type Answer } from 'reprise'
import { z } from 'zod'
import type { Store } from '../../../../src/stores/store.ts'
import { before, finishRun, untilDeath, type Life, type Scene } from '../lab.ts'

export const atlas: Scene = {
  async record({ store, life, save, saveFinished }) {
    await atlases(life()).kickoff({ id: 'atlas', inputs: { country: 'Norway', style: 'plain' } })
    await save('parent', 'atlas')
    const inputs = { style: 'bold' }
    await untilDeath(
      atlases(life(before('model.replied'))).fork({ runId: 'atlas', id: 'bold', inputs, effects: 'ask' }),
    )
    await save('bold-killed', 'bold', 'bold')
    await saveFinished('bold', 'bold')
    const outputs = { map: 'a map by hand' }
    await atlases(life()).fork({ runId: 'atlas', id: 'edited', from: 'text', outputs, by: 'Ada' })
    await save('edited', 'edited')
    await atlases(life()).replay('cover', { runId: 'atlas', id: 'replayed', inputs })
    await save('replayed', 'replayed')
    const lossy = { ...life(), options: { ...life().options, store: without(store, 'atlas', 'tool.') } }
    await atlases(lossy).fork({ runId: 'atlas', id: 'lossy', from: 'map', effects: 'ask' })
    await save('lossy', 'lossy', 'lossy-done')
    await saveFinished('lossy-done', 'lossy')
    const { cases } = await atlases(life()).backtest('map', { runs: ['atlas'], id: 'trials' })
    await save('trial', String(cases[0]?.trial))
  },
  finish,
}

function finish(life: Life, run: string) {
  return finishRun(life, atlases(life), run, answer)
}

function answer(): Answer {
  return { decision: 'use', result: 'the old map' }
}

function atlases({ did, model, options }: Life) {
  const buy = tool({
    name: 'buy',
    description: 'Buys a map',
    effect: 'once',
    input: z.object({ of: z.string() }),
    run: ({ of }) => `map ${did(`buy ${of}`)} of ${of}`,
  })
  const agent = new Agent({
    role: 'Author',
    goal: 'Make an atlas',
    tools: [buy],
    model: model([
      { when: 'Task: Map', after: 0, calls: [{ tool: 'buy', input: { of: 'Norway' } }] },
      { when: 'Task: Map', reply: 'a map' },
      { when: 'Task: Text', reply: 'a text' },
      { when: 'Task: Cover', reply: 'a cover' },
    ]),
  })
  const map = new Task({ name: 'map', description: 'Map of {country}', agent })
  const towns = new Task({
    name: 'towns',
    effect: 'read',
    context: [],
    forEach: () => ['Oslo', 'Bergen'],
    run: ({ item }) => `${item} ${did(`visit ${item}`)}`,
  })
  const fjords = new Task({
    name: 'fjords',
    effect: 'read',
    context: [],
    when: ({ inputs }) => inputs['country'] === 'Norway',
    run: () => `fjords ${did('fjords')}`,
  })
  const text = new Task({ name: 'text', description: 'Text in {style}', agent, context: [map] })
  const cover = new Task({ name: 'cover', description: 'Cover', agent, context: [text, towns, fjords] })
  return new Crew({ ...options, name: 'atlases', tasks: [map, towns, fjords, text, cover] })
}

/** A store that has lost the entries of some types from a run. */
function without(store: Store, run: string, type: string): Store {
  return {
    ...store,
    async *read(...given) {
      for await (const line of store.read(...given)) {
        const isLost = given[0] === run && Buffer.from(line.bytes).includes(`"type":"${type}`)
        if (!isLost) yield line
      }
    },
  }
}
