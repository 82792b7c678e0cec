// Long lists: of them, the document has what is in sight, and all can be reached by scrolling. How long that takes is
// measured by `npm run bench -- studio`.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { gate } from '../../crew/runs/speaking-model.ts'
import { noChromium } from '../../support/chromium.ts'
import { isFull } from '../../support/full.ts'
import { addLongRun, addManyRuns } from '../sample-store.ts'
import { browserOf, openStudio, type Window } from './support.ts'

const skip = await noChromium()
/** More than fit any window, and far fewer than there are. */
const most = 2_000

describe('a long list', { skip }, () => {
  const browser = browserOf()

  test('of the steps of a run keeps the document small, and every step is reached', async () => {
    const store = memoryStore()
    const steps = isFull ? 5_000 : 400
    await addLongRun(store, steps)
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    await window.go('/runs/library-long')
    const rows = await everyRow(window, '.timeline .window-list')
    assert.ok(rows > steps, `${rows} rows for ${steps} steps`)
    await window.page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await window.page.locator('.line').last().getByText('Read.').waitFor()
    assert.deepEqual(window.problems, [])
  })

  test('of runs is read page by page down to the first one', async () => {
    const store = memoryStore()
    const count = isFull ? 10_000 : 250
    await addManyRuns(store, count)
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    await window.go('/runs')
    assert.equal(await everyRow(window, '.window-list'), count)
    await window.until('.list-end', new RegExp(`^${count} runs$`))
    assert.deepEqual(window.problems, [])
  })

  test('of runs keeps its position when one comes back from a run, after a reload too', async () => {
    const store = memoryStore()
    await addManyRuns(store, 250)
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs?status=completed')
    await everyRow(window, '.window-list')
    await page.evaluate('scrollTo(0, 7200)')
    await window.holds('history.state?.scroll === 7200')
    await page.locator('.run-row .run-id').nth(15).click()
    await page.locator('.run-title').waitFor()
    await window.holds('scrollY === 0')
    await page.goBack()
    await window.holds('Math.abs(scrollY - 7200) < 1')
    assert.equal((await page.locator('.run-row .run-id').count()) > 10, true)
    await page.goForward()
    await page.locator('.run-title').waitFor()
    await window.holds('scrollY === 0')
    await page.goBack()
    await window.holds('Math.abs(scrollY - 7200) < 1')
    await page.reload()
    await window.holds('Math.abs(scrollY - 7200) < 1')
    assert.deepEqual(window.problems, [])
  })

  test('of runs reaches its end while its beginning is being read again', async () => {
    const store = memoryStore()
    await addManyRuns(store, 150)
    const crew = new Crew({
      name: 'late',
      store,
      tasks: [new Task({ name: 'wait', effect: 'read', run: () => 'done' })],
    })
    const run = await crew.enqueue()
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    const { page } = window
    const [asked, go] = [gate(), gate()]
    await window.go('/runs')
    await window.until('.list-end', /Loading older runs/)
    await page.route(/\/api\/runs\?(?!.*cursor)/, async (route) => {
      asked.open()
      await go.wait
      await route.continue()
    })
    // a change that makes the list no longer
    await run.cancel()
    await asked.wait
    await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
    await page.locator('[aria-posinset="100"]').waitFor()
    go.open()
    await window.until('.list-end', /^151 runs$/)
  })
})

/** Scrolls a window at a time until nothing more comes: how many rows there were, each seen once in its place. */
async function everyRow({ page, holds }: Window, list: string): Promise<number> {
  await page.locator(`${list} [aria-posinset]`).first().waitFor()
  const rowsOf = JSON.stringify(`${list} [aria-posinset]`)
  const seen = new Set<number>()
  for (;;) {
    const { rows, size, nodes, reading } = (await page.evaluate(`({
      rows: [...document.querySelectorAll(${rowsOf})].map((row) => Number(row.ariaPosInSet)),
      size: Number(document.querySelector(${rowsOf}).ariaSetSize),
      nodes: document.querySelectorAll('*').length,
      reading: document.body.innerText.includes('Loading older runs'),
    })`)) as { rows: number[]; size: number; nodes: number; reading: boolean }
    assert.ok(nodes < most, `${nodes} elements in the document`)
    for (const row of rows) seen.add(row)
    if (seen.size === size && !reading) return size
    const last = Math.max(...rows)
    await page.evaluate('scrollBy(0, innerHeight)')
    // what comes into sight by that, or the next page of what there is
    await holds(
      `[...document.querySelectorAll(${rowsOf})].some((row) => Number(row.ariaPosInSet) > ${last}) ||
        (${reading} && !document.body.innerText.includes('Loading older runs'))`,
    )
  }
}
