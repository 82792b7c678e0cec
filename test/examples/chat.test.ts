// The chat of the examples in a real browser: React, `useChat`, a tool that waits for approval, and a page that is
// reloaded in the middle.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { chatOf } from '../../examples/chat/chat.ts'
import { crew, script, slowly } from '../../examples/chat/crew.ts'
import { serveChat } from '../../examples/chat/server.ts'
import { gate } from '../crew/runs/speaking-model.ts'
import { entriesOf, newStore } from '../engine/support.ts'
import { noChromium, openChromium } from '../support/chromium.ts'

const skip = await noChromium()

describe('the chat in Chromium', () => {
  test(
    'shows tasks, tools and an approval, and after a reload in the middle has everything once',
    { skip },
    async () => {
      const [go, store] = [gate(), newStore()]
      // the model stops in the middle of its letter until the page was loaded again
      const model = slowly(script, async (word) => word.startsWith('assessor') && (await go.wait))
      await using chat = await openChat(crew.with({ store, model }))
      const { page } = chat

      await page.getByRole('button', { name: 'Report' }).click()
      await page.getByRole('button', { name: 'Approve' }).waitFor()
      const asked = await page.locator('main').innerText()
      assert.match(asked, /1 of 3 tasks done, suspended/)
      assert.match(await page.getByTestId('task-facts').innerText(), /done/)
      assert.match(await page.getByTestId('tool-lookup_policy').innerText(), /done\n.*P-77.*\n.*Ada Lovelace/)
      assert.match(await page.getByTestId('task-filing').innerText(), /waiting/)

      await page.reload()
      await page.getByRole('button', { name: 'Approve' }).waitFor()
      await chat.until(asked)

      await page.getByRole('button', { name: 'Approve' }).click()
      await page.getByText('We have your claim, and an').waitFor()
      const half = await page.locator('main').innerText()
      assert.match(half, /2 of 3 tasks done, running/)
      assert.doesNotMatch(half, /assessor/)

      await page.reload()
      await chat.until(half)
      go.open()
      await page.getByText('Kind regards.').waitFor()
      await page.getByText('3 of 3 tasks done, completed').waitFor()
      const whole = await page.locator('main').innerText()
      for (const words of [
        'Let me look at the policy first.',
        'The damage is about 1,800 euros.',
        'The facts are clear, so I file the claim.',
        '{"claim":"CL-77"}',
        'The claim is filed as CL-77.',
        'Dear Ada, we are sorry',
        'an assessor will call you within two days',
        'Kind regards.',
      ])
        assert.equal(whole.split(words).length - 1, 1, `${words} is there once in\n${whole}`)

      await page.reload()
      await chat.until(whole)
      const sent = await page.evaluate(`fetch('/api/chat/${chat.id()}/stream').then((response) => response.text())`)
      assert.match(String(sent), /Kind regards/)
      for (const { description = '' } of (await crew.with({ store }).run(chat.id()).view()).tasks)
        assert.ok(description !== '' && !String(sent).includes(description), `the page is not sent ${description}`)
      const calls = (await entriesOf(store, chat.id())).filter((entry) => entry.type === 'tool.called')
      assert.deepEqual(
        calls.map((entry) => entry.type === 'tool.called' && entry.tool),
        ['lookup_policy', 'file_claim'],
      )
      assert.deepEqual(chat.problems, [])
    },
  )

  test('passes a denial to the agent, and shows it', { skip }, async () => {
    const model = slowly(script, async () => undefined)
    await using chat = await openChat(crew.with({ store: newStore(), model }))
    await chat.page.getByRole('button', { name: 'Report' }).click()
    await chat.page.getByRole('button', { name: 'Deny' }).click()
    await chat.page.getByText('The claim was not filed.').waitFor()
    assert.match(await chat.page.getByTestId('tool-file_claim').innerText(), /denied/)
    await chat.page.getByText('3 of 3 tasks done, completed').waitFor()
    assert.deepEqual(chat.problems, [])
  })
})

test('the chat refuses an approval that another tab gave before with 409, and one of no question with 400', async () => {
  const chat = chatOf(crew.with({ store: newStore(), model: slowly(script, async () => undefined) }))
  const post = async (message: object): Promise<number> => {
    const body = JSON.stringify({ id: 'c', messages: [message] })
    const reply = await chat(new Request('http://localhost/api/chat', { method: 'POST', body }))
    await reply.text()
    return reply.status
  }
  const approving = (id: string): object => ({
    id: 'run-c',
    role: 'assistant',
    parts: [
      { type: 'tool-file_claim', toolCallId: 'c', state: 'approval-responded', approval: { id, approved: true } },
    ],
  })
  assert.equal(await post({ id: 'u', role: 'user', parts: [{ type: 'text', text: 'Water' }] }), 200)
  assert.equal(await post(approving('q9')), 400)
  assert.equal(await post(approving('q1')), 200)
  assert.equal(await post(approving('q1')), 409)
})

interface OpenChat extends AsyncDisposable {
  readonly page: Page
  /** Errors of the page, and requests to anywhere but this machine. */
  readonly problems: readonly string[]
  id(): string
  /** Waits for the page to show exactly this. */
  until(text: string): Promise<void>
}

async function openChat(served: typeof crew): Promise<OpenChat> {
  const { server, url } = await serveChat(served, 0)
  const browser = await openChromium()
  const page = await browser.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())))
  page.on('request', (request) => {
    const { protocol, hostname } = new URL(request.url())
    if (protocol !== 'data:' && hostname !== '127.0.0.1') problems.push(request.url())
  })
  await page.goto(url)
  return {
    page,
    problems,
    id: () => new URL(page.url()).searchParams.get('chat') ?? '',
    until: async (text) => {
      const shows = `document.querySelector('main').innerText === ${JSON.stringify(text)}`
      await page.waitForFunction(shows).catch(async (error: unknown) => {
        assert.equal(await page.locator('main').innerText(), text)
        throw error
      })
    },
    async [Symbol.asyncDispose]() {
      await browser.close()
      server.closeAllConnections()
      server.close()
    },
  }
}
