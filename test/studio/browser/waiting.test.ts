// Everything that waits for a person, answered on the page that lists it.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import type { Entry } from 'reprise/journal'
import type { Store } from 'reprise/stores'
import { entriesOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { noChromium } from '../../support/chromium.ts'
import { claimsCrew, tightCrew } from '../sample-crews.ts'
import { browserOf, openStudio, sendNow } from './support.ts'

const skip = await noChromium()
const inputs = { notes: 'Policy P-77. Water in the cellar.', tone: 'a calm style' }

describe('questions on the page', { skip }, () => {
  const browser = browserOf()

  test('of every kind are answered where they are listed, with a name and a note, and a second browser sees them go', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    const [claims, tight] = [claimsCrew({ store }), tightCrew({ store })]
    await using _claims = claims
    await using _tight = tight
    const answers = {
      call: { decision: 'approve' },
      result: { decision: 'approve' },
      doubt: undefined,
      limit: undefined,
      value: undefined,
    } as const
    const until = (kind: keyof typeof answers) => (question: { readonly kind: keyof typeof answers }) =>
      question.kind === kind ? undefined : answers[question.kind]
    await claims.kickoff({ id: 'approval', inputs })
    await claims.kickoff({ id: 'review', inputs, onQuestion: until('result') })
    await claims.kickoff({ id: 'doubt', inputs, onQuestion: until('doubt') })
    await tight.kickoff({ id: 'limit', inputs: { text: 'a long text' } })
    await claims.kickoff({ id: 'denial', inputs })
    await using studio = await openStudio({ crews: [claims, tight] })
    await using window = await browser.open(studio.url)
    await using other = await browser.open(studio.url, { viewport: { width: 360, height: 700 } })
    const { page } = window
    for (const { go } of [window, other]) await go('/')
    for (const { until: shows } of [window, other]) await shows('.page-head', /5 open/)
    for (const id of ['approval', 'denial']) await window.until('.question-card', new RegExp(`${id} · claims`))
    const form = page.getByRole('form', { name: 'Your answer' })
    const chosen = (kind: RegExp): Promise<string> => window.until('.question-place', kind)

    // everything needed to decide is visible
    const asked = await chosen(/Approve this call\?/)
    for (const words of ['pay_out', '1290', 'Policy P-77. Water in the cellar.', 'water in the cellar'])
      assert.ok(asked.includes(words), `${words} in ${asked}`)
    await form.getByRole('button', { name: /^Approve/ }).click()
    await form.getByLabel('Change the arguments').check()
    await form.getByLabel('amount').fill('1000')
    await form.getByLabel('Note').fill('within the limit')
    await form.getByLabel('Your name').fill('Grace')
    await form.getByRole('button', { name: 'Approve the call' }).click()
    await sendNow(page)

    await chosen(/Accept this result\?/)
    await other.until('.page-head', /4 open/)
    await form
      .getByRole('button', { name: /Ask for changes/ })
      .first()
      .click()
    await form.getByLabel('Feedback').fill('Be brief.')
    await form.getByRole('button', { name: 'Ask for changes', exact: true }).click()
    await sendNow(page)

    await chosen(/Did this call happen\?/)
    await form.getByRole('button', { name: /^It happened/ }).click()
    await form.getByLabel('Result').fill('{"posted": true}')
    await form.getByRole('button', { name: 'Use this result' }).click()
    await sendNow(page)

    await chosen(/Limit reached/)
    await form.getByLabel('Tokens').fill('5000')
    await form.getByRole('button', { name: 'Raise the limit', exact: true }).last().focus()
    await page.keyboard.press('Control+Enter')
    await sendNow(page)

    // the last one by keyboard alone
    await chosen(/Approve this call\?/)
    await page.locator('.answer-form:not([inert])').waitFor()
    await keys(page, 'd', ...Array.from('Too much'), 'Control+Enter')
    await sendNow(page)
    for (const { until: shows } of [window, other]) await shows('.main', /Nothing is waiting for you/)

    const opened = await claims.openStore()
    assert.deepEqual(
      await Promise.all(['approval', 'review', 'doubt', 'limit', 'denial'].map((run) => lastAnswer(opened, run))),
      [
        {
          decision: 'approve',
          input: { policy: 'P-77', amount: 1000, currency: 'EUR', reference: 'claim of 3 May' },
          note: 'within the limit',
          by: 'Grace',
        },
        { decision: 'revise', feedback: 'Be brief.', by: 'Grace' },
        { decision: 'happened', result: { posted: true }, by: 'Grace' },
        { decision: 'raise', to: { tokens: 5000 }, by: 'Grace' },
        { decision: 'deny', reason: 'Too much', by: 'Grace' },
      ],
    )
    assert.deepEqual([window.problems, other.problems], [[], []])
  })
})

async function keys(page: Page, ...pressed: readonly string[]): Promise<void> {
  for (const key of pressed) await page.keyboard.press(key === ' ' ? 'Space' : key)
}

async function lastAnswer(store: Store, run: string): Promise<unknown> {
  const found = (await entriesOf(store, run)).findLast((entry: Entry) => entry.type === 'question.answered')
  return found?.type === 'question.answered' ? found.answer : found
}
