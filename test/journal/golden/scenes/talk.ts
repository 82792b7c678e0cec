// A conversation of three turns: the process of the second one dies, and the third one is in the next run.
import { Agent, chat, type Chat } from 'reprise'
import { before, untilDeath, type Life, type Outputs, type Scene } from '../lab.ts'

const messages = ['Good morning', 'What is rye?', 'Thank you']

export const talk: Scene = {
  async record({ life, save, saveFinished }) {
    await talking(life())
      .conversation('talk')
      .send(messages[0] as string, { id: 'm1', by: 'Ada' })
    const second = talking(life(before('model.replied'))).conversation('talk')
    await untilDeath(second.send(messages[1] as string, { id: 'm2' }))
    await save('killed', 'talk', 'done')
    await saveFinished('done', 'talk')
    await save('next', 'talk~2')
  },
  finish,
}

/** Sends the messages that have no answer yet. */
async function finish(life: Life): Promise<Outputs> {
  const conversation = talking(life).conversation('talk')
  for (const [index, message] of messages.entries()) await conversation.send(message, { id: `m${index + 1}` })
  return Object.fromEntries((await conversation.messages()).map(({ id, text }) => [id, text]))
}

function talking({ model, options }: Life): Chat {
  const agent = new Agent({
    role: 'Baker',
    goal: 'Help',
    model: model([{ when: /./, reply: (all) => `I have heard ${all.split('\n').length} lines.` }]),
  })
  // a chat takes no hidden options
  return chat(agent, { turnsPerRun: 2 })['~copy']({ ...options, name: 'talking' })
}
