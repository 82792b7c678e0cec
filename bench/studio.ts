// The studio's page with a long run and with many runs, in Chromium: the longest task of its main thread in Chromium's
// trace, while the page opens and while it is scrolled from one end to the other.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, CDPSession, Page } from 'playwright-core'
import { serveStudio } from 'reprise/studio'
import { buildPage } from '../scripts/build-page.ts'
import { addLongRun, addManyRuns } from '../test/studio/sample-store.ts'
import { noChromium, openChromium } from '../test/support/chromium.ts'
import type { Figure } from './report.ts'

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
      const rounds: Round[] = []
      for (let round = 0; round < 3; round++) rounds.push(await roundIn(browser, studio.url + path, shows))
      for (const act of ['opening', 'scrolling'] as const) {
        const own = rounds.map((round) => round[act]).toSorted((a, b) => a.longestMs - b.longestMs)
        const middle = own[1]
        const all = own.map(({ longestMs }) => longestMs.toFixed(0)).join(', ')
        const note = `the middle of ${all}; at most ${Math.max(...own.map(({ busyMs }) => busyMs)).toFixed(0)} ms of a processor; ${middle?.tasks} tasks, ${rounds[0]?.rows} rows`
        figures.push({
          name: `studio: longest task, ${act} ${what}`,
          value: middle?.longestMs ?? 0,
          unit: 'ms',
          note,
        })
      }
    }
    return figures
  } finally {
    await browser.close()
    await rm(page, { recursive: true, force: true })
  }
}

interface Round {
  readonly opening: Traced
  readonly scrolling: Traced
  readonly rows: number
}

async function roundIn(browser: Browser, url: string, shows: string): Promise<Round> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } })
  page.setDefaultTimeout(120_000)
  const session = await page.context().newCDPSession(page)
  const opening = await traced(session, async () => {
    await page.goto(url)
    await page.locator(shows).first().waitFor()
    // until pending work is painted
    await page.evaluate('new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))')
  })
  let rows = 0
  const scrolling = await traced(session, async () => (rows = await scrolled(page)))
  await page.close()
  return { opening, scrolling, rows }
}

/** Scrolls to the end, a few screens at a time, while the list loads. Returns the number of rows. */
async function scrolled(page: Page): Promise<number> {
  return (await page.evaluate(`new Promise((resolve) => {
    const step = () => {
      const before = scrollY
      scrollBy(0, innerHeight * 3)
      const reading = document.querySelector('.list-end')?.textContent.startsWith('Reading') === true
      if (scrollY === before && !reading) resolve(Number(document.querySelector('[aria-setsize]').ariaSetSize))
      else requestAnimationFrame(step)
    }
    step()
  })`)) as number
}

interface Traced {
  readonly longestMs: number
  /** Longest processor time of a task, without the other load of the machine. */
  readonly busyMs: number
  readonly tasks: number
}

interface TraceEvent {
  readonly name: string
  readonly ph: string
  readonly pid: number
  readonly tid: number
  readonly dur?: number
  readonly tdur?: number
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
  const most = (of: (event: TraceEvent) => number | undefined): number =>
    tasks.reduce((longest, event) => Math.max(longest, (of(event) ?? 0) / 1000), 0)
  return { longestMs: most(({ dur }) => dur), busyMs: most(({ tdur }) => tdur), tasks: tasks.length }
}
