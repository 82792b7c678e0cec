// The page of a flow's run.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Flow } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { z } from 'zod'
import { quiet } from '../../flows/support.ts'
import { noChromium } from '../../support/chromium.ts'
import { browserOf, openStudio, sendNow } from './support.ts'

const skip = await noChromium()
const read = { effect: 'read' } as const

/** Pays so many claims, of which the third is refused, then asks, waits for an event, and sleeps. */
function payments() {
  return new Flow({
    name: 'payments',
    store: memoryStore(),
    logger: quiet,
    inputs: z.object({ count: z.number().int() }),
    async run(flow) {
      const ids = await flow.step('list', read, () => Array.from({ length: flow.inputs.count }, (_, n) => n))
      await Promise.allSettled(
        ids.map((id) =>
          flow.step('pay', { ...read, key: id, input: { id } }, () => {
            if (id === 2) throw new Error('the bank refused it')
            return { paid: id }
          }),
        ),
      )
      const answer = await flow.ask(
        'release',
        { text: 'Release the letters?', about: { letters: ids.length } },
        z.object({ ok: z.boolean(), by: z.enum(['mail', 'post']) }),
      )
      await flow.event('confirmed', z.object({ by: z.string() }))
      await flow.sleep('cool down', { hours: 8 })
      return answer
    },
  })
}

describe('the page of a flow', { skip, timeout: 240_000 }, () => {
  const browser = browserOf()

  test('has a row for each name, and below it pages of keys, which open', async () => {
    const flow = payments()
    await flow.kickoff({ id: 'r', inputs: { count: 50 } })
    await using studio = await openStudio({ crews: [flow] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/r')
    await window.until('.facts div', /Steps\s*50 done, 1 failed/)
    await window.until('.line.is-task', /pay\s*50 steps\s*1 failed/)
    assert.equal(await page.locator('.line.is-step').count(), 0)
    await page.getByRole('button', { name: 'Steps of pay' }).click()
    await window.until('.pager', /1 to 20 of 50 steps/)
    assert.equal(await page.locator('.line.is-step').count(), 20)
    await page.locator('.pager').getByRole('button', { name: 'Next' }).click()
    await window.until('.pager', /21 to 40 of 50 steps/)
    await page.locator('.pager').getByRole('button', { name: 'Previous' }).click()
    await page.locator('.line.is-step').filter({ hasText: 'pay[2]' }).locator('.line-link').click()
    const shown = await window.until('.detail', /the bank refused it/)
    assert.match(shown, /Requested after list/)
    assert.deepEqual(window.problems, [])
  })

  test('has a graph with an edge from the step before each', async () => {
    const flow = payments()
    await flow.kickoff({ id: 'r', inputs: { count: 2 } })
    await using studio = await openStudio({ crews: [flow] })
    await using window = await browser.open(studio.url)
    await window.go('/runs/r?tab=graph')
    await window.until('.graph-node', /pay\[1\]\s*executed/)
    assert.equal(await window.page.locator('.graph .edge').count(), 3)
  })

  test('replays from a step that is typed, and forks with another result of a step', async () => {
    const flow = payments()
    await flow.kickoff({ id: 'r', inputs: { count: 2 } })
    await using studio = await openStudio({ crews: [flow] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/r')
    await page.getByRole('button', { name: 'Replay' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('From step').fill('')
    await window.until('.plan', /Name a step to see the plan/)
    await dialog.getByLabel('From step').fill('pay[1]')
    await window.until('.plan', /pay\[1\]/)
    await dialog.getByRole('button', { name: 'Start new run' }).click()
    await window.until('.run-title', /waiting/)
    await window.go('/runs/r?at=list')
    await page.getByRole('button', { name: 'Edit output' }).click()
    await dialog.getByLabel('Output of list').first().waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    assert.equal((await flow.runs().page(10)).length, 2)
    assert.deepEqual(window.problems, [])
  })

  test('takes an answer field by field, and an event, and says until when the flow sleeps', async () => {
    const flow = payments()
    await using studio = await openStudio({ crews: [flow] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/crews/payments')
    await page.getByLabel('count').fill('1')
    await page.getByRole('button', { name: 'Start' }).click()
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await window.until('.question', /Release the letters\?\s*letters\s*:?\s*1/)
    const form = page.getByRole('form', { name: 'Your answer' })
    await form.getByLabel('ok').check()
    await form.getByLabel('by').selectOption('"post"')
    await form.getByRole('button', { name: 'Send the answer' }).click()
    await sendNow(page)
    await window.until('.flow-facts', /confirmed waits for event confirmed/)
    await window.until('.run-title', /sleeping/)
    await page.getByRole('button', { name: 'Send event' }).click()
    const dialog = page.getByRole('dialog')
    assert.equal(await dialog.getByLabel('Name').inputValue(), 'confirmed')
    await dialog.getByLabel('Value').fill('{ "by": "Ada" }')
    await dialog.getByRole('button', { name: 'Send', exact: true }).click()
    await window.until('.run-why', /It sleeps until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d/)
    const [run] = await flow.runs().page(1)
    const view = await flow.run(run?.runId ?? '').view()
    const values = view.tasks.map(({ name, output }) => [name, output])
    assert.deepEqual(values.slice(2, 4), [
      ['release', { ok: true, by: 'post' }],
      ['confirmed', { by: 'Ada' }],
    ])
    assert.deepEqual(window.problems, [])
  })

  test('is put on a schedule, which is listed and removed', async () => {
    const flow = payments()
    await using studio = await openStudio({ crews: [flow] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/crews/payments')
    await page.getByLabel('count').fill('1')
    await page.getByLabel('Execute').selectOption('schedule')
    await page.getByLabel('Times').fill('0 2 * * *')
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    await page.getByLabel('Name').fill('nightly')
    await page.getByRole('button', { name: 'Add schedule' }).click()
    await window.until('.schedules', /nightly\s*Remove\s*0 2 \* \* \* Europe\/Berlin/)
    await page.getByRole('button', { name: 'Remove' }).click()
    assert.deepEqual(window.problems, [])
  })
})
