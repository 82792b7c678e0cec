// Parts of a run's page that are opened or counted there.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { noChromium } from '../../support/chromium.ts'
import { briefingCrew, checksCrew, claimsCrew } from '../sample-crews.ts'
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

  test('names calls and decisions in the words of its buttons', async () => {
    const crew = claimsCrew({ store: memoryStore() })
    const decide = (question: { kind: string }) =>
      question.kind === 'call' ? ({ decision: 'deny', reason: 'too much', by: 'Grace' } as const) : undefined
    await crew.kickoff({ id: 'denied', inputs, onQuestion: decide })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    await window.go('/runs/denied')
    await window.until('.line.is-step', /reply\s*calls pay_out/)
    await window.page.locator('.line.is-question .line-link').first().click()
    const decisions = await window.until('.detail', /Decisions/)
    assert.match(decisions, /Approve this call\?/)
    assert.match(decisions, /: denied by Grace: too much/)
    assert.doesNotMatch(decisions, /Answer "approve"/)
  })

  test('and a comparison agree on the time and the tasks of a waiting run', async () => {
    const crew = claimsCrew({ store: memoryStore() })
    await crew.kickoff({ id: 'one', inputs })
    await crew.kickoff({ id: 'two', inputs })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await page.clock.install()
    await window.go('/compare?a=one&b=two')
    await window.until('.diff-part', /assessment/)
    await page.clock.fastForward(120_000)
    await window.until('.side-card', /Time\s*2m/)
    const assessment = page.locator('.diff-part').filter({ hasText: 'assessment' })
    assert.match(await assessment.locator('.diff-links').innerText(), /^waiting, .* → waiting, /)
  })

  test('keeps the selected task of a wide graph in view beside its details', async () => {
    const crew = checksCrew({ store: memoryStore() })
    await crew.kickoff({ id: 'checked', inputs: { company: 'North Mill' } })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    await window.go('/runs/checked?tab=graph')
    await window.page.locator('.graph-node').filter({ hasText: 'report' }).click()
    await window.until('.detail h2', /report/)
    await window.holds(
      `document.querySelector('.graph-node[aria-current]').getBoundingClientRect().right - 1 <= document.querySelector('.graph-scroll').getBoundingClientRect().right`,
    )
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
