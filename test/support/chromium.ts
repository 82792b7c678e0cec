// Debian's Chromium, without a window; or why there is none. Pages of tests are on 127.0.0.1, and the browser reaches
// nothing else.
import { chromium, type Browser } from 'playwright-core'
import { isCi } from './ci.ts'
import { findProgram, programs } from './servers/programs.ts'

/** Why tests of pages are skipped: an option of node:test. In CI they never are. */
export async function noChromium(): Promise<string | false> {
  try {
    findProgram(programs.chromium)
    return false
  } catch (error) {
    if (isCi) throw error
    return (error as Error).message
  }
}

export function openChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: findProgram(programs.chromium),
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  })
}
