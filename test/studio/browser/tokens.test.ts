// A studio with tokens: a wrong token, a read-only token, a revoked token, and logging out.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { serveStudio, type StudioServer } from 'reprise/studio'
import { noChromium } from '../../support/chromium.ts'
import { claims } from '../support.ts'
import { browserOf, builtPage, openStudio } from './support.ts'

const skip = await noChromium()
const tokens = { look: 'look-look-look-look', act: 'act-act-act-act-act' }
const notes = 'P-77'

/** The refusals that these tests are about are on the console, too. */
function others(problems: readonly string[]): string[] {
  return problems.filter((words) => !/401/.test(words))
}

describe('a studio with tokens', { skip }, () => {
  const browser = browserOf()

  test('explains a wrong token at its field, and shows the requested page with the right one, live', async () => {
    await using crew = claims()
    await using studio = await openStudio({ crews: [crew], tokens })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs')
    const field = page.getByLabel('Token')
    await window.holds("document.activeElement?.id === 'token'")
    await field.fill('wrong-wrong-wrong-wrong')
    await page.keyboard.press('Enter')
    await window.until('#token-problem', /Unknown token/)
    assert.equal(await field.getAttribute('aria-invalid'), 'true')
    await field.fill(` ${tokens.look} `)
    await page.locator('#token-problem').waitFor({ state: 'detached' })
    await page.keyboard.press('Enter')
    await window.until('h1', /Runs/)
    await window.until('.connection', /Live/)
    await window.until('.role', /Read only$/)
    // what happens from here on is seen without a reload
    await crew.enqueue({ id: 'r', inputs: { notes } })
    await window.until('.run-row', /queued\s*r/)
    await window.go('/crews/claims')
    await window.until('h2', /facts/)
    assert.equal(await page.getByRole('button', { name: /^(Start|Backtest)$/ }).count(), 0)
    assert.deepEqual(others(window.problems), [])
  })

  test('asks again after its tokens were changed, and returns to the same place', async () => {
    await using crew = claims()
    await crew.enqueue({ id: 'r', inputs: { notes } })
    const page = await builtPage()
    const serve = (given: typeof tokens, port: number): Promise<StudioServer> =>
      serveStudio({ crews: [crew], tokens: given, port, page })
    const first = await serve(tokens, 0)
    await using window = await browser.open(first.url)
    await window.go('/runs/r')
    await window.page.getByLabel('Token').fill(tokens.act)
    await window.page.getByRole('button', { name: 'Open' }).click()
    await window.until('h1', /^r$/)
    await first.close()
    await using second = await serve(
      { look: 'other-other-other', act: 'fresh-fresh-fresh' },
      Number(new URL(first.url).port),
    )
    assert.equal(second.url, first.url)
    await window.until('.unlock .note', /Your token is no longer valid/)
    await window.page.getByLabel('Token').fill('fresh-fresh-fresh')
    await window.page.getByRole('button', { name: 'Open' }).click()
    await window.until('h1', /^r$/)
    await window.until('.connection', /Live/)
  })

  test('is left by logging out, after which a reload asks for the token', async () => {
    await using crew = claims()
    await using studio = await openStudio({ crews: [crew], tokens })
    await using window = await browser.open(studio.url)
    await window.go('/')
    await window.page.getByLabel('Token').fill(tokens.act)
    await window.page.getByRole('button', { name: 'Open' }).click()
    await window.page.getByRole('button', { name: 'Log out' }).click()
    await window.page.getByLabel('Token').waitFor()
    assert.equal(await window.page.locator('.note').count(), 0)
    await window.page.reload()
    await window.page.getByLabel('Token').waitFor()
    assert.deepEqual(others(window.problems), [])
  })
})
