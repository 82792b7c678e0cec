// Runs that come again and again, from the page: when they come is shown before anything is set, and each can be ended.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { noChromium } from '../../support/chromium.ts'
import { claims } from '../support.ts'
import { browserOf, openStudio, type Window } from './support.ts'

const skip = await noChromium()

describe('a schedule', { skip }, () => {
  const browser = browserOf()

  async function open(window: Window): Promise<void> {
    await window.go('/crews/claims')
    await window.page.getByLabel('Executed').selectOption('schedule')
    await window.page.getByLabel('notes').fill('P-77')
  }

  test('is set after its first three times were seen, survives the studio, and is ended in another one', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using crew = claims(store)
    {
      await using studio = await openStudio({ crews: [claims(store)] })
      await using window = await browser.open(studio.url, { timezoneId: 'Europe/Berlin' })
      const { page } = window
      await open(window)
      const set = page.getByRole('button', { name: 'Set the schedule' })
      assert.ok(await set.isDisabled(), 'nobody has said when')
      await page.getByLabel('Cron expression').fill('30 7 * * *')
      await page.getByLabel('Name').fill('mornings')
      await window.until('.next-times li:nth-child(3)', /07:30/)
      await window.until('.next-times', /Europe\/Berlin/)
      assert.equal((await Array.fromAsync(crew.runs())).length, 0, 'nothing is set before somebody agrees')
      await set.click()
      await window.until('.schedule', /mornings.*30 7 \* \* \* Europe\/Berlin.*07:30/s)
      assert.deepEqual(window.problems, [])
    }
    const [run] = await Array.fromAsync(crew.runs())
    assert.deepEqual([run?.schedule?.name, run?.inputs], ['mornings', { notes: 'P-77' }])

    // one that has no code, after the first is gone
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    await window.go('/crews')
    await window.page.getByRole('button', { name: 'End the schedule mornings' }).click()
    await window.page.getByRole('button', { name: 'End it' }).click()
    await window.page.locator('.schedule').waitFor({ state: 'detached' })
    assert.equal((await crew.run(run?.runId ?? '').view()).status, 'cancelled')
    assert.deepEqual(window.problems, [])
  })

  test('that is wrong says so at the field, and is not set', async () => {
    await using crew = claims()
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await open(window)
    const cron = page.getByLabel('Cron expression')
    await cron.fill('0 25 * * *')
    await window.until('#cron-problem', /^Cron of this schedule is "0 25 \* \* \*".*give five fields/)
    assert.equal(await cron.getAttribute('aria-invalid'), 'true')
    assert.match((await cron.getAttribute('aria-describedby')) ?? '', /cron-problem/)
    await page.getByLabel('Time zone').fill('Mars')
    await window.until('#timezone-problem', /"Mars"; give a name such as Europe\/Berlin/)
    assert.ok(await page.getByRole('button', { name: 'Set the schedule' }).isDisabled())
    await page.getByLabel('Time zone').fill('UTC')
    await page.getByRole('button', { name: 'every hour' }).click()
    await window.until('.next-times li:nth-child(3)', /:00/)
    await page.locator('#cron-problem').waitFor({ state: 'detached' })
    assert.equal((await Array.fromAsync(crew.runs())).length, 0)
    assert.deepEqual(window.problems, [])
  })

  test('that code declares cannot be ended here, and that nobody keeps is said to be so', async () => {
    await using crew = claims()
    await crew.schedule({ name: 'nightly', cron: '0 2 * * *', inputs: { notes: 'P-77' } })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    await window.go('/crews/claims')
    await window.until('.schedule', /nightly\s*in the code.*isn’t in the queue: nobody keeps this schedule/s)
    assert.equal(await window.page.getByRole('button', { name: /^End the schedule/ }).count(), 0)
    await crew['~enqueueNext']('nightly', new Date())
    await window.page.locator('.schedule .note').waitFor({ state: 'detached' })
  })

  test('ends with its run that waits, and the page says so before', async () => {
    await using crew = claims()
    const { id } = await crew.enqueue({ inputs: { notes: 'P-77' }, schedule: { name: 'nightly', cron: '@daily' } })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    await window.go(`/runs/${encodeURIComponent(id)}`)
    await window.until('.facts', /Schedule\s*nightly/)
    await window.page.getByRole('button', { name: 'Cancel' }).click()
    await window.until('dialog .note', /The schedule nightly ends with it/)
  })
})
