// Parts of a run's page that are opened or counted there.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { noChromium } from '../../support/chromium.ts'
import { briefingCrew, claimsCrew } from '../sample-crews.ts'
import { browserOf, openStudio } from './support.ts'

const skip = await noChromium()
const inputs = { notes: 'Policy P-77. Water in the cellar.', tone: 'a calm style' }

describe('the page of a run', { skip, timeout: 240_000 }, () => {
  const browser = browserOf()

  test('opens a failed step with its error, its try and its request', async () => {
    const crew = claimsCrew({ store: memoryStore() })
    await crew.kickoff({ id: 'failed', inputs: { ...inputs, notes: 'unreadable' } }).then(undefined, () => {})
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    await window.go(`${studio.url}/runs/failed`)
    const failed = window.page.locator('.line.is-step').filter({ hasText: 'failed' })
    assert.doesNotMatch(await failed.innerText(), /retr|tries/)
    await failed.locator('.line-link').click()
    const shown = await window.until('.detail', /Failed model call/)
    assert.equal(shown.match(/the provider has no answer to that/g)?.length, 2)
    assert.match(shown, /Tries/)
    assert.match(shown, /Extract the facts from: unreadable/)
    assert.deepEqual(window.problems, [])
  })

  test('counts the time of a waiting run, and offers no resume that would wait as well', async () => {
    const crew = claimsCrew({ store: memoryStore() })
    await crew.kickoff({ id: 'waits', inputs })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await page.clock.install()
    await window.go('/runs/waits')
    const time = page.locator('.facts div').filter({ hasText: /^Time/ })
    assert.match(await time.innerText(), /\b\d+s$/)
    await page.clock.fastForward(120_000)
    await window.until('.facts div', /^Time\s*2m/)
    assert.equal(await page.locator('.acts').getByRole('button', { name: 'Resume' }).count(), 0)
    await page.getByRole('button', { name: 'Fork' }).waitFor()
  })

  test('leads from a nested crew to the page of that crew, and from there to the outer one', async () => {
    const crew = briefingCrew({ store: memoryStore() })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/crews/briefings?task=research')
    await page.getByRole('link', { name: 'research', exact: true }).click()
    await window.until('h1', /^research$/)
    await window.until('.crew-side', /Part of\s*briefings/)
    assert.equal(await page.getByRole('button', { name: /Start|Backtest/ }).count(), 0)
    await page.getByRole('link', { name: 'briefings' }).click()
    await page.getByRole('button', { name: 'Start', exact: true }).waitFor()
    assert.deepEqual(window.problems, [])
  })
})
