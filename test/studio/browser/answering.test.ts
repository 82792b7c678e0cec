// The page after the last question of a run is answered.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { noChromium } from '../../support/chromium.ts'
import { workOnce } from '../../workers/worker-crews.ts'
import { claims } from '../support.ts'
import { approveNow, browserOf, openStudio } from './support.ts'

const skip = await noChromium()
const inputs = { notes: 'P-77' }

describe('an answer on the page', { skip }, () => {
  const browser = browserOf()

  test('continues a run that the studio started, visibly for the person who answered', async () => {
    await using studio = await openStudio({ crews: [claims()] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/crews/claims')
    await page.getByLabel('notes').fill('P-77')
    await page.getByRole('button', { name: 'Start', exact: true }).click()
    await window.until('.run-title', /waiting/)
    await page.getByRole('button', { name: 'Answer' }).click()
    await approveNow(window)
    await window.until('.notice', /Answered\. The run continues here\./)
    await window.until('.run-title', /completed/)
    assert.equal(await page.locator('.answered-run').count(), 0)
    assert.deepEqual(window.problems, [])
  })

  test('leaves a run of other processes to a worker, says so, and offers to continue it here', async () => {
    const crew = claims()
    for (const id of ['here', 'there']) await crew.kickoff({ id, inputs })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/')
    await window.until('.page-head', /2 open/)
    await approveNow(window)
    await window.until('.answered-run', /Waiting for a worker: here/)
    await window.until('.page-head', /1 open/)
    await approveNow(window)
    const there = page.locator('.answered-run').filter({ hasText: /a worker: there/ })
    await there.getByRole('button', { name: 'Continue here' }).waitFor()

    await page
      .locator('.answered-run')
      .filter({ hasText: /a worker: here/ })
      .getByRole('button', { name: 'Continue here' })
      .click()
    await window.until('.notice', /The run continues here\./)
    await window.go('/runs/here')
    await window.until('.run-title', /completed/)
    await window.go('/runs/there')
    await window.until('.run-title', /queued/)
    await window.until('.run-why', /It has its answers, and now waits for a worker or a resume/)
    assert.deepEqual(window.problems, [])
  })

  test('offers nothing further to a role that may only answer, and its notice goes once a worker is there', async () => {
    const store = memoryStore()
    const crew = claims(store)
    await crew.kickoff({ id: 'r', inputs })
    await using studio = await openStudio({ crews: [crew], tokens: { answer: 'a'.repeat(16) } })
    await using window = await browser.open(studio.url, { viewport: { width: 360, height: 700 } })
    const { page } = window
    await page.goto(studio.url)
    await page.getByLabel('Token').fill('a'.repeat(16))
    await page.keyboard.press('Enter')
    await page.locator('.question-card').click()
    await approveNow(window)
    await window.until('.answered-run', /Waiting for a worker/)
    await page.locator('.answered-run').getByRole('button', { name: 'Dismiss' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Continue here' }).count(), 0)
    await workOnce([crew])
    await window.until('.notice', /The run continues/)
    await page.locator('.answered-run').waitFor({ state: 'detached' })
  })
})
