// The page of the studio with a long run and with many runs, in Chromium: the longest task of its main thread in Chromium's own trace,
// while it opens and while it is scrolled from one end to the other.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CDPSession, Page } from 'playwright-core'
import { serveStudio } from 'reprise/studio'
import { buildPage } from '../scripts/build-page.ts'
import { addLongRun, addManyRuns } from '../test/studio/sample-store.ts'
import { noChromium, openChromium } from '../test/support/chromium.ts'
import type { Figure } from './report.ts'

const target = { below: 200 }

export async function benchStudio(folder: string): Promise<Figure[]> {
  const missing = await noChromium()
  if (missing !== false) {
    console.log(`no figures of the studio: ${missing}`)
    return []
  }
  const store = `sqlite:${join(folder, 'runs.db')}`
  const page = await mkdtemp(join(tmpdir(), 'reprise-page-'))
  const browser = await openChromium()
  try {
    await buildPage(page)
    await addManyRuns(store, 10_000)
    await addLongRun(store, 5_000)
    await using studio = await serveStudio({ store, port: 0, page })
    const figures: Figure[] = []
    for (const [what, path, shows] of [
      ['a run of 5,000 steps', 'runs/library-long', '.line.is-step'],
      ['10,000 listed runs', 'runs', '.run-row .run-id'],
    ] as const) {
      const window = await browser.newPage({ viewport: { width: 1280, height: 800 } })
      window.setDefaultTimeout(120_000)
      const session = await window.context().newCDPSession(window)
      let openedMs = 0
      const opening = await traced(session, async () => {
        const begun = performance.now()
        await window.goto(studio.url + path)
        await window.locator(shows).first().waitFor()
        openedMs = performance.now() - begun
      })
      let rows = 0
      const scrolling = await traced(session, async () => (rows = await scrolled(window)))
      const note = `${opening.tasks} tasks in the trace, in sight after ${openedMs.toFixed(0)} ms`
      figures.push({
        name: `studio: longest task, opening ${what}`,
        value: opening.longestMs,
        unit: 'ms',
        target,
        note,
      })
      figures.push({
        name: `studio: longest task, scrolling ${what}`,
        value: scrolling.longestMs,
        unit: 'ms',
        target,
        note: `${scrolling.tasks} tasks, ${rows} rows`,
      })
      await window.close()
    }
    return figures
  } finally {
    await browser.close()
    await rm(page, { recursive: true, force: true })
  }
}

/** To the end, a few windows at a time, with pages of a list as they come. Gives how many rows there are. */
async function scrolled(page: Page): Promise<number> {
  return (await page.evaluate(`new Promise((resolve) => {
    const step = () => {
      const before = scrollY
      scrollBy(0, innerHeight * 3)
      const reading = document.body.innerText.includes('Reading older runs')
      if (scrollY === before && !reading) resolve(Number(document.querySelector('[aria-setsize]').ariaSetSize))
      else requestAnimationFrame(step)
    }
    step()
  })`)) as number
}

interface Traced {
  readonly longestMs: number
  readonly tasks: number
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  readonly args?: { readonly name?: string }
}

async function traced(session: CDPSession, act: () => Promise<unknown>): Promise<Traced> {
  const events: TraceEvent[] = []
  const collect = ({ value }: { readonly value: unknown[] }): void => void events.push(...(value as TraceEvent[]))
  session.on('Tracing.dataCollected', collect)
  const over = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve))
  await session.send('Tracing.start', {
    transferMode: 'ReportEvents',
    traceConfig: { includedCategories: ['toplevel', 'devtools.timeline', '__metadata'] },
  })
  await act()
  await session.send('Tracing.end')
  await over
  session.off('Tracing.dataCollected', collect)
  const mains = new Set(
    events
      .filter(({ name, args }) => name === 'thread_name' && args?.name === 'CrRendererMain')
      .map(({ pid, tid }) => `${pid}/${tid}`),
  )
  const tasks = events.filter(
    ({ name, ph, pid, tid }) =>
      ph === 'X' && mains.has(`${pid}/${tid}`) && (name === 'RunTask' || name === 'ThreadControllerImpl::RunTask'),
  )
  if (tasks.length === 0) throw new Error('the trace has no task of a page')
  return { longestMs: tasks.reduce((most, { dur = 0 }) => Math.max(most, dur / 1000), 0), tasks: tasks.length }
}
