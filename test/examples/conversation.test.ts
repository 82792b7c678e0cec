// A conversation in a real browser: React, `useChat`, several messages, and a page that is reloaded in the middle of a
// turn.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { claimsChat, script } from '../../examples/conversation/agent.ts'
import { serveConversations } from '../../examples/conversation/server.ts'
import { slowly } from '../../examples/chat/crew.ts'
import { gate } from '../crew/runs/speaking-model.ts'
import { newStore } from '../engine/support.ts'
import { noChromium, openChromium } from '../support/chromium.ts'

const skip = await noChromium()

describe('a conversation in Chromium', () => {
  test('has several turns, and after a reload in the middle of one shows everything once', { skip }, async () => {
    const [go, store] = [gate(), newStore()]
    // the model stops in the middle of its second answer until the page was loaded again
    const model = slowly(script, async (word) => word.startsWith('covers') && (await go.wait))
    const served = claimsChat(model).with({ store })
    const { server, url } = await serveConversations(served, 0)
    const browser = await openChromium()
    try {
      const page = await browser.newPage()
      const problems: string[] = []
      page.on('pageerror', (error) => problems.push(String(error)))
      await page.goto(url)

      await say(page, 'There is water in my cellar')
      await page.getByText('What is the number of your policy?').waitFor()
      await say(page, 'It is P-77')
      await page.getByText('Thank you, Ada. Policy P-77').waitFor()
      const half = await page.locator('main').innerText()
      assert.doesNotMatch(half, /covers/)

      await page.reload()
      await page.getByText('Thank you, Ada. Policy P-77').waitFor()
      assert.equal(await page.locator('main').innerText(), half)
      go.open()
      await page.getByText('so we pay for the carpet.').waitFor()

      await say(page, 'Many thanks')
      await page.getByText('An assessor will call you within two days.').waitFor()
      await page.getByRole('button', { name: 'Send' }).and(page.locator(':enabled')).waitFor()
      const whole = await page.locator('main').innerText()
      const lines = [
        'There is water in my cellar',
        'I am sorry about the water in your cellar. What is the number of your policy?',
        'It is P-77',
        'Thank you, Ada. Policy P-77 covers water damage, so we pay for the carpet.',
        'Many thanks',
        'You are welcome. An assessor will call you within two days.',
      ]
      for (const line of lines) assert.equal(whole.split(line).length - 1, 1, `${line} is there once in\n${whole}`)

      await page.reload()
      await page.getByText('An assessor will call you').waitFor()
      assert.equal(await page.locator('main').innerText(), whole)
      const id = new URL(page.url()).searchParams.get('chat') ?? ''
      const messages = await served.conversation(id).messages()
      assert.deepEqual(
        messages.map(({ text }) => text),
        lines,
      )
      assert.deepEqual(problems, [])
    } finally {
      await browser.close()
      server.closeAllConnections()
      server.close()
    }
  })
})

async function say(page: Page, text: string): Promise<void> {
  await page.getByLabel('Message').fill(text)
  await page.getByRole('button', { name: 'Send' }).click()
}
