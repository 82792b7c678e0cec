// The studio in Chromium: the page as it is built, a server for it, and pages that keep what went wrong in them.
import { rm, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { serveStudio, type StudioServer, type ServeOptions } from 'reprise/studio'
import { buildPage } from '../../../scripts/build-page.ts'
import { openChromium } from '../../support/chromium.ts'

/** A machine under load is slow, not broken. */
export const patienceMs = 120_000

let folder: Promise<string> | undefined

/** The folder of the page, built once in a process from the sources as they are. */
export function builtPage(): Promise<string> {
  folder ??= build()
  return folder
}

async function build(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'reprise-page-'))
  process.once('exit', () => void rm(path, { recursive: true, force: true }))
  await buildPage(path)
  return path
}

export async function openStudio(options: Omit<ServeOptions, 'page' | 'port'>): Promise<StudioServer> {
  return serveStudio({ ...options, port: 0, page: await builtPage() })
}

export interface Window extends AsyncDisposable {
  readonly page: Page
  /** Errors on its console, among them what the content security policy refused, and requests to other origins. */
  readonly problems: readonly string[]
  /** Where it is, and what is in the address after that. */
  go(path: string): Promise<void>
  /** Until the text of what the selector finds fits. */
  until(selector: string, pattern: RegExp): Promise<string>
  /** Until an expression in the page is true. The policy of the page refuses Playwright's own way to wait for that. */
  holds(expression: string): Promise<void>
}

/** One browser per test file, in which every window has its own session. */
export function browserOf(): { open(url: string, options?: BrowserContextOptions): Promise<Window> } {
  let browser: Promise<Browser> | undefined
  after(async () => (await browser)?.close())
  return {
    async open(url, options = {}) {
      browser ??= openChromium()
      const context = await (await browser).newContext({ viewport: { width: 1280, height: 800 }, ...options })
      context.setDefaultTimeout(patienceMs)
      return windowIn(await context.newPage(), url)
    },
  }
}

async function windowIn(page: Page, url: string): Promise<Window> {
  const problems: string[] = []
  const { origin } = new URL(url)
  page.on('pageerror', (error) => problems.push(String(error)))
  page.on('console', (message) => void (message.type() === 'error' && problems.push(message.text())))
  page.on('request', (request) => {
    const asked = new URL(request.url())
    if (asked.protocol !== 'data:' && asked.origin !== origin) problems.push(`request to ${asked.href}`)
  })
  const go = async (path: string): Promise<void> => {
    await page.goto(new URL(path, url).href)
    await page.locator('main').waitFor()
  }
  return {
    page,
    problems,
    go,
    until: async (selector, pattern) => {
      const found = page.locator(selector).filter({ hasText: pattern }).first()
      await found.waitFor().catch(async (error: unknown) => {
        const shown = await page.locator('body').innerText()
        throw new Error(`there is no ${selector} with ${pattern} on the page:\n${shown}`, { cause: error })
      })
      return found.innerText()
    },
    holds: async (expression) => {
      const isTrue = await page.evaluate(`new Promise((resolve) => {
        const until = performance.now() + ${patienceMs}
        const look = () => ((${expression}) ? resolve(true) : performance.now() > until ? resolve(false) : requestAnimationFrame(look))
        look()
      })`)
      if (isTrue !== true) throw new Error(`it does not become true that ${expression}`)
    },
    [Symbol.asyncDispose]: () => page.context().close(),
  }
}

/** Approves the call that is asked about, without the seconds in which that can be taken back. */
export async function approveNow({ page }: Window): Promise<void> {
  const form = page.getByRole('form', { name: 'Your answer' })
  await form
    .getByRole('group', { name: 'Decision' })
    .getByRole('button', { name: /^Approve/ })
    .click()
  await form.getByRole('button', { name: 'Approve the call' }).click()
  await sendNow(page)
}

export async function sendNow(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Send now' }).click()
}
