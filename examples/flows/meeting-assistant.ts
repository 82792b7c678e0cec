// Minutes of a meeting become work: an agent lists the actions, a person names the owner of each action that has none,
// and then every action gets a card, the list is saved, and the team gets a message.
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { Agent, Flow, tool, type OnQuestion } from 'reprise'
import { z } from 'zod'

const secretary = new Agent({ role: 'Secretary', goal: 'Write down who does what, and invent nothing' })
const action = z.object({ title: z.string(), owner: z.string().describe('empty if the notes name none') })

/** The board keeps the idempotency keys of its cards, and ignores a second card with the same key. */
const createCard = tool({
  name: 'create-card',
  description: 'Put a card on the board',
  effect: 'idempotent',
  input: action,
  async run({ title, owner }, { idempotencyKey }) {
    const cards = await readFile('.reprise/cards.txt', 'utf8').catch(() => '')
    if (!cards.includes(idempotencyKey))
      await appendFile('.reprise/cards.txt', `${idempotencyKey} ${owner}: ${title}\n`)
    return { card: title }
  },
})
const tellTeam = tool({
  name: 'tell-team',
  description: 'Send a message to the channel of the team',
  input: z.object({ text: z.string() }),
  run: ({ text }, { idempotencyKey }) => appendFile('.reprise/channel.txt', `${idempotencyKey} ${text}\n`),
  async settle(idempotencyKey) {
    const channel = await readFile('.reprise/channel.txt', 'utf8').catch(() => '')
    return channel.includes(idempotencyKey) ? { happened: true, result: null } : { happened: false }
  },
})

export const assistant = new Flow({
  name: 'meeting-assistant',
  inputs: z.object({ notes: z.string() }),
  async run(flow) {
    await flow.step(
      'make-folder',
      { effect: 'idempotent' },
      async () => void (await mkdir('.reprise', { recursive: true })),
    )
    const prompt = `List the actions in these notes: ${flow.inputs.notes}`
    const { output } = await flow.run(secretary, prompt, { output: z.object({ actions: z.array(action) }) })

    const actions = await Promise.all(
      output.actions.map(async ({ title, owner }) => {
        const text = `"${title}" has no owner. Who does it?`
        return { title, owner: owner || (await flow.ask('owner', text, z.string().min(1), { key: title })) }
      }),
    )

    const csv = actions.map(({ title, owner }) => `${owner};${title}\n`).join('')
    const save = flow.step('save-list', { input: csv, effect: 'idempotent' }, (text) =>
      writeFile('.reprise/actions.csv', text),
    )
    const cards = actions.map((one) => flow.run(createCard, one, { key: one.title }))
    await Promise.all([save, ...cards])

    const owners = [...new Set(actions.map(({ owner }) => owner))]
    await flow.run(tellTeam, { text: `${actions.length} new cards, for ${owners.join(', ')}` })
    return actions
  },
})
export const inputs = { notes: 'Ada orders flour. Bob cleans the oven by Friday. The sign at the door is broken.' }
export const onQuestion: OnQuestion = ({ text }) => {
  console.log(text)
  return { decision: 'answer', value: 'Cleo' }
}

if (import.meta.main) {
  const result = await assistant.kickoff({ id: 'meeting-1', inputs, onQuestion })
  console.log(result.output)
}

// Output:
// "repair the sign" has no owner. Who does it?
// [
//   { title: 'order flour', owner: 'Ada' },
//   { title: 'clean the oven by Friday', owner: 'Bob' },
//   { title: 'repair the sign', owner: 'Cleo' }
// ]
