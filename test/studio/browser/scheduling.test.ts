// Schedules on the page: the schedules in code, and whether a worker keeps them; the schedules in the store.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { noChromium } from '../../support/chromium.ts'
import { memoryStore } from 'reprise/stores'
import { openRuns } from '../../../src/crew/open-runs.ts'
import { addSchedule } from '../../../src/crew/queue/added-schedules.ts'
import { claims } from '../support.ts'
import { browserOf, openStudio } from './support.ts'

const skip = await noChromium()

describe('a schedule', { skip }, () => {
  const browser = browserOf()

  test('without a queued run is marked as unattended until a worker queues its next run', async () => {
    await using crew = claims()
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    await window.go('/crews/claims')
    await window.until(
      '.crew-side',
      /Schedules\s*None\. Declare schedules in code:.*crew\.schedule\(\{ cron, inputs \}\)/s,
    )
    await crew.schedule({ name: 'nightly', cron: '0 2 * * *', inputs: { notes: 'P-77' } })
    await window.go('/crews')
    await window.until('.schedule', /nightly.*0 2 \* \* \* UTC.*isn’t queued, because no worker serves/s)
    await crew.enqueueNext('nightly')
    await window.page.locator('.schedule .note').waitFor({ state: 'detached' })
  })

  test('in the store is shown without code, and removed after a question', async () => {
    const store = memoryStore()
    await using crew = claims(store)
    await addSchedule(crew, { name: 'weekly', cron: '@weekly', inputs: { notes: 'P-77' } })
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    await window.go('/crews')
    await window.until('.schedule', /weekly.*@weekly UTC, added to the store/s)
    await window.page.getByRole('button', { name: 'Remove', exact: true }).click()
    await window.until('dialog', /Remove schedule weekly\?/)
    await window.page.getByRole('button', { name: 'Remove the schedule' }).click()
    await window.page.locator('.schedule').waitFor({ state: 'detached' })
    assert.deepEqual(await (await openRuns(store)).schedules(), [])
  })
})
