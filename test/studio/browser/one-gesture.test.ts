// One gesture answers one question, and an answer can be taken back before it is sent. The clock of the page stands
// still, so that two presses are always close together.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { noChromium } from '../../support/chromium.ts'
import { claims, model } from '../support.ts'
import { browserOf, openStudio, patienceMs, type Window } from './support.ts'

const skip = await noChromium()
const inputs = { notes: 'P-77' }
const guardMs = 1_000
const undoMs = 7_000

/** Asks whether an answer is accepted, with the decision preselected. */
function reviews(store: Store): Crew {
  const agent = new Agent({ role: 'Reader', goal: 'Read letters', model })
  const facts = new Task({ name: 'facts', description: 'Extract the facts from: {notes}', agent, humanInput: true })
  const crew: Crew = new Crew({ name: 'reviews', tasks: [facts], store })
  return crew
}

describe('an answer', { skip, timeout: 240_000 }, () => {
  const browser = browserOf()

  /** A page with as many calls to approve, every answer that it sends, and its clock, which only `pass` moves. */
  async function waiting(ids: readonly string[], makeCrew: (store: Store) => Crew = claims) {
    const closing = new AsyncDisposableStack()
    const store = memoryStore()
    const crew = makeCrew(store)
    for (const id of ids) await crew.kickoff({ id, inputs })
    const studio = closing.use(await openStudio({ crews: [crew] }))
    const window: Window = closing.use(await browser.open(studio.url))
    const { page } = window
    const sent: string[] = []
    page.on('request', (request) => {
      const [, run] = /\/runs\/([^/]*)\/questions\//.exec(request.url()) ?? []
      if (run !== undefined) sent.push(run)
    })
    await page.clock.install()
    await window.go('/')
    await window.until('.page-head', new RegExp(`${ids.length} open`))
    await page.clock.pauseAt(Date.now() + 60_000)
    const pass = async (ms: number): Promise<void> => page.clock.runFor(ms)
    await pass(guardMs)
    return { page, window, sent, pass, crew, store, [Symbol.asyncDispose]: () => closing.disposeAsync() }
  }

  test('is given for one question by two presses of its keys, or by keys that are held down', async () => {
    await using at = await waiting(['one', 'two', 'three'])
    const { page, window, pass, sent } = at
    await page.keyboard.press('a')
    await pass(50)
    await page.keyboard.press('Control+Enter')
    await pass(250)
    await page.keyboard.press('a')
    await page.keyboard.press('Control+Enter')
    await window.until('.page-head', /2 open/)
    assert.equal(await page.locator('.held').count(), 1)
    // the next question is not answered by the same keys a moment later either: nothing is chosen
    await pass(guardMs)
    await page.keyboard.press('Control+Enter')
    await pass(50)
    await window.until('.answer-form .problem', /Choose a decision first/)
    await page.keyboard.press('a')
    await pass(50)
    await page.keyboard.down('Control')
    for (let press = 0; press < 4; press++) {
      await page.keyboard.down('Enter')
      await pass(guardMs)
    }
    await page.keyboard.up('Enter')
    await page.keyboard.up('Control')
    await window.until('.page-head', /1 open/)
    await pass(undoMs)
    await window.until('.page-head', /1 open/)
    assert.deepEqual(sent.toSorted(), ['one', 'two'])
    assert.deepEqual(window.problems, [])
  })

  test('is given for one review by presses that go on for longer than the next one is guarded', async () => {
    await using at = await waiting(['one', 'two', 'three'], reviews)
    const { page, window, pass } = at
    for (let press = 0; press < 8; press++) {
      await page.keyboard.press('Control+Enter')
      await pass(300)
    }
    await window.until('.page-head', /2 open/)
    const send = await page.getByRole('button', { name: 'Accept the result' }).boundingBox()
    await pass(guardMs)
    for (let press = 0; press < 8; press++) {
      await page.mouse.click((send?.x ?? 0) + 10, (send?.y ?? 0) + 10)
      await pass(300)
    }
    await window.until('.page-head', /1 open/)
    assert.deepEqual(window.problems, [])
  })

  test('is given for one question by two clicks on the same spot', async () => {
    await using at = await waiting(['one', 'two'])
    const { page, window, pass } = at
    await page
      .getByRole('group', { name: 'Decision' })
      .getByRole('button', { name: /^Approve/ })
      .click()
    await pass(50)
    const send = await page.getByRole('button', { name: 'Approve the call' }).boundingBox()
    const [x, y] = [(send?.x ?? 0) + 10, (send?.y ?? 0) + 10]
    await page.mouse.click(x, y)
    await pass(350)
    await page.mouse.click(x, y)
    await pass(guardMs)
    await page.mouse.click(x, y)
    await window.until('.page-head', /1 open/)
    assert.equal(await page.locator('.held').count(), 1)
  })

  test('is sent once the seconds to undo it are over, and not before', async () => {
    await using at = await waiting(['one', 'two'])
    const { page, window, pass, sent, crew } = at
    await approve(page, pass)
    await window.until('.held', /Approve the call: settle of one/)
    // another view changes nothing about that
    await page.getByRole('link', { name: 'Runs' }).first().click()
    await pass(2_000)
    await window.until('.held', /Undo/)
    assert.deepEqual(sent, [])
    assert.equal((await crew.run('one').view()).status, 'waiting')
    await pass(undoMs)
    await window.until('.answered-run', /Waiting for a worker: one/)
    assert.deepEqual(sent, ['one'])
    assert.equal((await crew.run('one').view()).status, 'queued')
  })

  test('that is undone is never sent, and its question is back as it was left', async () => {
    await using at = await waiting(['one', 'two'])
    const { page, window, pass, sent } = at
    await page.getByRole('form', { name: 'Your answer' }).getByLabel('Note').fill('within the limit')
    await approve(page, pass)
    await window.until('.page-head', /1 open/)
    await page.getByRole('button', { name: 'Undo' }).click()
    await pass(guardMs)
    await window.until('.page-head', /2 open/)
    await window.until('.question-place', /run one/)
    assert.equal(await page.getByLabel('Note').inputValue(), 'within the limit')
    await pass(undoMs)
    assert.deepEqual(sent, [])
    // by its key, too
    await page.locator('.question').focus()
    await page.keyboard.press('Control+Enter')
    await window.until('.held', /one/)
    await pass(50)
    await page.keyboard.press('z')
    await pass(undoMs)
    await window.until('.page-head', /2 open/)
    assert.deepEqual(sent, [])
  })

  test('is not lost with the page: leaving sends it at once', async () => {
    await using at = await waiting(['one', 'two'])
    const { page, window, pass, crew, store } = at
    await approve(page, pass)
    await window.until('.held', /or when you leave the page/)
    const queued = (async () => {
      for await (const _ of store.watch(undefined, AbortSignal.timeout(patienceMs)))
        if ((await crew.run('one').view()).status === 'queued') return true
      return false
    })()
    await page.goto('about:blank')
    assert.equal(await queued, true)
  })

  test('is sent at once when the page is hidden, which may be its last event', async () => {
    await using at = await waiting(['one', 'two'])
    const { page, window, pass, sent } = at
    await approve(page, pass)
    await window.until('.held', /one/)
    await page.evaluate(
      'Object.defineProperty(document, "hidden", { value: true }) && document.dispatchEvent(new Event("visibilitychange"))',
    )
    await window.until('.answered-run', /Waiting for a worker: one/)
    assert.deepEqual(sent, ['one'])
  })

  test('to the last question of a run is announced on the page of the run until it is sent', async () => {
    await using at = await waiting(['one'])
    const { page, window, pass } = at
    await page.locator('.question-context').getByRole('link', { name: 'run one' }).click()
    // the view and what it shows are fetched
    const answer = page.getByRole('button', { name: 'Answer' })
    while (!(await answer.isVisible())) await pass(50)
    await answer.click()
    while (!(await page.locator('.answer-form').isVisible())) await pass(50)
    await pass(guardMs)
    await approve(page, pass)
    await window.until('.asks-bar', /All questions are answered\. The answers will be sent in a moment/)
    await page.getByRole('button', { name: 'Undo' }).click()
    await window.until('.asks-bar', /1 question is waiting for a person/)
  })

  test('that is refused is a draft again, with the reason', async () => {
    await using at = await waiting(['one', 'two'])
    const { page, window, pass, crew } = at
    await page.getByRole('form', { name: 'Your answer' }).getByLabel('Note').fill('within the limit')
    await approve(page, pass)
    await window.until('.held', /one/)
    await page.route('**/questions/**', (route) =>
      route.fulfill({ status: 503, json: { code: 'STORE_UNAVAILABLE', message: 'the store is away' } }),
    )
    await page.getByRole('button', { name: 'Send now' }).click()
    await window.until('.notice.is-bad', /Not sent: “Approve the call” for one\. The store is away/)
    await pass(50)
    await window.until('.page-head', /2 open/)
    await page.locator('.question-card').filter({ hasText: 'settle' }).first().click()
    await pass(guardMs)
    await window.until('.answer-form .problem', /The store is away/)
    assert.equal(await page.getByLabel('Note').inputValue(), 'within the limit')
    assert.equal((await crew.run('one').view()).status, 'waiting')
  })

  test('that is typed stays while another question is looked at, and the focus moves to the next question', async () => {
    await using at = await waiting(['one', 'two'])
    const { page, window, pass } = at
    await page.keyboard.press('d')
    await pass(50)
    await page.getByLabel('Reason').fill('Too much')
    await page.locator('.question-card').nth(1).click()
    await pass(guardMs)
    await window.until('.question-place', /run two/)
    assert.equal(await page.getByLabel('Reason').count(), 0)
    await page.locator('.question-card').nth(0).click()
    await pass(guardMs)
    assert.equal(await page.getByLabel('Reason').inputValue(), 'Too much')
    await page.keyboard.press('Control+Enter')
    await pass(guardMs)
    await window.until('.question-place', /run two/)
    assert.equal(await page.evaluate('document.activeElement?.className'), 'question panel')
  })
})

async function approve(page: Page, pass: (ms: number) => Promise<void>): Promise<void> {
  const form = page.getByRole('form', { name: 'Your answer' })
  await form
    .getByRole('group', { name: 'Decision' })
    .getByRole('button', { name: /^Approve/ })
    .click()
  await pass(50)
  await form.getByRole('button', { name: 'Approve the call' }).click()
  await pass(50)
}
