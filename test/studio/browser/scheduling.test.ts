// Schedules on the page: the schedules in code, and whether a worker keeps them.
import { describe, test } from 'node:test'
import { noChromium } from '../../support/chromium.ts'
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
    await crew['~enqueueNext']('nightly', new Date())
    await window.page.locator('.schedule .note').waitFor({ state: 'detached' })
  })
})
