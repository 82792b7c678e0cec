// Every view of the studio, as Chromium has it: what it fetches, what its console says, and what axe-core finds.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import type { Crew } from 'reprise'
import type { StudioServer } from 'reprise/studio'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { noChromium } from '../../support/chromium.ts'
import { isFull } from '../../support/full.ts'
import { shareOf } from '../../support/share.ts'
import { browserOf, openStudio } from './support.ts'
import { sampleRuns, views } from './views.ts'

const skip = await noChromium()
const axe = await readFile(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const looks = ['light', 'dark'] as const
const widths = [1280, 360] as const
/** Clipped texts of which nothing is left to read. */
const squeezed = `[...document.querySelectorAll('.clip')]
  .filter((one) => one.checkVisibility() && one.clientWidth < 12 && one.scrollWidth > one.clientWidth)
  .map((one) => one.textContent)`

describe('every view', { skip }, () => {
  const browser = browserOf()
  const closing = new AsyncDisposableStack()
  after(() => closing.disposeAsync())
  let opening: Promise<StudioServer> | undefined
  const open = (): Promise<StudioServer> => (opening ??= openAll())

  async function openAll(): Promise<StudioServer> {
    const folder = closing.use(await temporaryFolder())
    const crews: readonly Crew[] = await sampleRuns(`sqlite:${join(folder.path, 'runs.db')}`)
    for (const crew of crews) closing.use(crew)
    return closing.use(await openStudio({ crews }))
  }

  // `npm test` has each of them in one look
  for (const [place, [look, width]] of looks.flatMap((each) => widths.map((wide) => [each, wide] as const)).entries())
    test(`has no violation of axe-core, fits its texts, and contacts no other server: ${look}, ${width} wide`, async () => {
      const { url } = await open()
      await using window = await browser.open(url, { colorScheme: look, viewport: { width, height: 800 } })
      const found: string[] = []
      for (const [name, [path, shows]] of Object.entries(views)) {
        if (!isFull && shareOf(name, looks.length * widths.length) !== place) continue
        await window.go(path)
        await window.page.locator(shows).first().waitFor()
        const room = (await window.page.evaluate('document.documentElement.scrollWidth')) as number
        if (room > width) found.push(`${name}: it is ${room} wide`)
        const lost = (await window.page.evaluate(squeezed)) as readonly string[]
        found.push(...lost.map((words) => `${name}: no room for ${words}`))
        found.push(...(await violations(window.page)).map((words) => `${name}: ${words}`))
      }
      assert.deepEqual(found, [])
      // an address that leads nowhere is asked for, and refused
      assert.deepEqual(
        window.problems.filter((words) => !words.includes('404')),
        [],
      )
    })

  test('loads at most 100 KB, gzipped, at first', async () => {
    const { url } = await open()
    await using window = await browser.open(url)
    const sizes = new Map<string, number>()
    const bodies: Promise<unknown>[] = []
    window.page.on('response', (response) => {
      if (/\/api\/(changes|runs\/[^/]*\/events)/.test(response.url())) return
      const count = (body: Buffer): void => void sizes.set(response.url(), gzipSync(body).length)
      // what is read again once the page is there may be cut off by the next page
      bodies.push(response.body().then(count, () => {}))
    })
    for (const path of ['/', '/runs/whole']) {
      await window.go(path)
      await window.page.locator('.question-place form, .line.is-step').first().waitFor()
      await Promise.all(bodies)
      const sum = [...sizes.values()].reduce((a, b) => a + b, 0)
      assert.ok(sizes.size > 3 && sum < 100_000, `${path}: ${sum} bytes in ${JSON.stringify([...sizes])}`)
    }
  })
})

async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axe)
  // animations that have not ended have colours in between
  await page.evaluate('Promise.all(document.getAnimations().map((one) => one.finish?.call(one)))').catch(() => {})
  const found = (await page.evaluate('axe.run(document, { resultTypes: ["violations"] })')) as {
    violations: { id: string; nodes: { html: string; failureSummary: string }[] }[]
  }
  return found.violations.map(
    ({ id, nodes }) => `${id} (${nodes.length} times) ${nodes[0]?.html.slice(0, 200)} ${nodes[0]?.failureSummary}`,
  )
}
