// A flow that fails, and later calls flow.again.
import assert from 'node:assert/strict'
import { Flow } from 'reprise'
import { z } from 'zod'
import { before, fail, finishRun, untilDeath, type Life, type Scene } from '../lab.ts'

export const rounds: Scene = {
  async record({ life, save, saveFinished }) {
    await assert.rejects(playing(life()).kickoff({ id: 'game', inputs: { points: 0, prize: 'none' } }), /no dice/)
    await save('failed', 'game', 'done')
    await untilDeath(playing(life(before('run.completed'))).resume('game'))
    await save('killed', 'game', 'done')
    await saveFinished('done', 'game')
    await save('next', 'game~2')
  },
  finish: (life, run) => finishRun(life, playing(life), run, () => ({ decision: 'approve' })),
}

function playing({ did, options }: Life) {
  return new Flow({
    ...options,
    name: 'game',
    inputs: z.object({ points: z.number(), prize: z.string() }),
    async run(flow) {
      const { points } = flow.inputs
      if (points > 0) return `won with ${points} points: ${flow.inputs.prize}`
      await flow.step('find', { effect: 'read' }, () => (did('find') === 0 ? fail(new Error('no dice')) : 'dice'))
      const chance = Math.floor(flow.random('dice') * 6) + 1
      const thrown = await flow.step('throw', { input: chance }, (dice) => (did('throw'), dice))
      return flow.again({ points: thrown, prize: flow.uuid('prize') })
    },
  })
}
