// The page of a conversation.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, chat, tool } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { quiet } from '../../flows/support.ts'
import { noChromium } from '../../support/chromium.ts'
import { browserOf, openStudio } from './support.ts'

const skip = await noChromium()

function clerk() {
  const refund = tool({
    name: 'refund',
    description: 'Pay money back',
    effect: 'once',
    approval: true,
    input: z.object({ euros: z.number() }),
    run: ({ euros }) => `${euros} euros are on their way`,
  })
  const model = scriptedModel([
    { when: /lamp is broken[^]*on their way/, reply: 'You get 40 euros back.' },
    { when: /lamp is broken/, calls: [{ tool: 'refund', input: { euros: 40 } }] },
    { when: /./, reply: 'What can I do for **you**?' },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'Help customers', model, tools: [refund] })
  return chat(agent, { name: 'shop', store: memoryStore(), logger: quiet, turnsPerRun: 15 })
}

describe('the page of a conversation', { skip, timeout: 240_000 }, () => {
  const browser = browserOf()

  test('shows the turns of all of its runs, takes messages, links approvals, and stops a turn', async () => {
    const shop = clerk()
    const conversation = shop.conversation('c')
    for (let turn = 1; turn <= 29; turn++) await conversation.send(`Hello ${turn}`, { by: 'ada' })
    await using studio = await openStudio({ crews: [shop] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/c')
    await window.until('.facts div', /Continues as\s*c~2/)
    await window.until('.run-tabs [aria-current]', /^Conversation$/)
    await window.until('.message.is-user', /^ada.*\s+Hello 29$/)
    await window.until('.message.is-model', /Assistant.*Steps of turn 29\s*What can I do for you\?/)
    await window.until('.pager', /Turns 10 to 29/)
    await page.getByRole('button', { name: 'Earlier turns' }).click()
    await window.until('.pager', /Turns 1 to 9/)
    await window.until('.message.is-user', /Hello 1$/)
    await page.getByRole('button', { name: 'Newest turns' }).click()
    await page.getByLabel('Message to c').fill('How are you?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await window.until('.message.is-user', /How are you\?/)
    await window.until('.message.is-model', /Steps of turn 30\s*What can I do for you\?/)
    await page.getByLabel('Message to c').fill('My lamp is broken.')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await window.until('.turn-questions', /Waits for a person: /)
    await page.locator('.turn-questions a').click()
    await window.until('.question, .detail, main', /refund/)
    await window.go('/runs/c')
    await page.getByRole('button', { name: 'Stop', exact: true }).click()
    await window.until('.message.is-model', /Stopped before it was answered/)
    await page.getByRole('link', { name: 'Steps of turn 30' }).click()
    await window.until('.detail', /answer\[30\]/)
    assert.deepEqual(window.problems, [])
  })
})
