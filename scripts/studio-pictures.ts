// Takes the pictures of the studio that the docs show, in Debian's Chromium, from real runs in a store of its own:
//
//   npx node --conditions=reprise-source scripts/studio-pictures.ts [view …] [--whole <folder>]
//
// With names of views (`scripts/pictures/picture-views.ts`), only their pictures are taken. `--whole` also writes a PNG
// of the whole page for each look, for a close inspection.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Browser, Page } from 'playwright-core'
import { serveStudio, type StudioServer, type ServeOptions } from 'reprise/studio'
import { memoryStore } from 'reprise/stores'
import { openChromium } from '../test/support/chromium.ts'
import { buildPage } from './build-page.ts'
import { fillForPictures } from './pictures/picture-store.ts'
import { pictureViews, singles, type PictureView } from './pictures/picture-views.ts'
import { looks, sheet, webp, type Look } from './pictures/sheet.ts'

const { positionals, values } = parseArgs({ allowPositionals: true, options: { whole: { type: 'string' } } })
const unknown = positionals.filter((name) => !pictureViews.some((view) => view.name === name))
if (unknown.length > 0) {
  const known = pictureViews.map(({ name }) => name).join(', ')
  throw new Error(`there is no view ${unknown.join(', ')}; there are ${known}`)
}
const chosen = pictureViews.filter(({ name }) => positionals.length === 0 || positionals.includes(name))
const folder = join(import.meta.dirname, '../docs/pictures')
const sheets = join(folder, 'views')
/** The pages' clock is set this much after the runs, so that ages are the same in all pictures. */
const laterMs = 4 * 60_000

await using closing = new AsyncDisposableStack()
const place = await mkdtemp(join(tmpdir(), 'reprise-pictures-'))
closing.defer(() => rm(place, { recursive: true, force: true }))
const page = join(place, 'page')
await buildPage(page)
// the pictures show this URL as the page's store
const crews = await fillForPictures(`sqlite:${join(place, 'runs.db')}`)
const time = Date.now() + laterMs
const serve = async (options: ServeOptions): Promise<StudioServer> =>
  closing.use(await serveStudio({ ...options, port: 0, page, by: 'Grace' }))
const studios = {
  samples: await serve({ crews }),
  empty: await serve({ store: memoryStore() }),
  locked: await serve({ store: memoryStore(), tokens: { act: 'an-unknown-token' } }),
}
const browser = await openChromium()
closing.defer(() => browser.close())
const drawing = await browser.newPage()

await mkdir(sheets, { recursive: true })
if (values.whole !== undefined) await mkdir(values.whole, { recursive: true })
let bytes = 0
for (const view of chosen) {
  const pictures: Buffer[] = []
  for (const look of looks) pictures.push(await take(browser, view, look))
  bytes += await save(join(sheets, `${view.name}.webp`), await sheet(drawing, pictures))
}
for (const { name, of, look } of singles) {
  const view = chosen.find((each) => each.name === of)
  if (!view) continue
  const picture = await take(browser, view, look)
  bytes += await save(join(folder, name), await webp(drawing, [{ png: picture, left: 0, top: 0 }], look.viewport))
}
console.log(`${bytes} bytes`)

async function save(file: string, content: Buffer): Promise<number> {
  await writeFile(file, content)
  console.log(`${content.length} ${file}`)
  return content.length
}

async function take(of: Browser, view: PictureView, look: Look): Promise<Buffer> {
  const { viewport, colorScheme } = look
  const context = await of.newContext({ viewport, colorScheme, reducedMotion: 'reduce', timezoneId: 'UTC' })
  try {
    const tab = await context.newPage()
    await tab.clock.setFixedTime(time)
    await tab.goto(new URL(view.path, studios[view.of ?? 'samples'].url).href)
    await tab.locator(view.shows).first().waitFor()
    await view.prepare?.(tab)
    await waitUntilSettled(tab)
    const picture = await tab.screenshot()
    // after the other screenshot, since this one resizes the window, which scrolls the page
    if (values.whole !== undefined)
      await tab.screenshot({ path: join(values.whole, `${view.name}-${look.name}.png`), fullPage: true })
    return picture
  } finally {
    await context.close()
  }
}

/** Waits until nothing is being loaded, and nothing moves. */
async function waitUntilSettled(tab: Page): Promise<void> {
  await tab.locator('.connection:not(.is-waiting), .unlock').first().waitFor()
  await tab.locator('.state[role=status]').first().waitFor({ state: 'detached' })
  await tab.evaluate('new Promise((resolve) => requestIdleCallback(resolve, { timeout: 2000 }))')
}
