// Debian's Chromium, headless. It reaches only 127.0.0.1, where the pages of tests are.
import { chromium, type Browser } from 'playwright-core'
import { isCi } from './ci.ts'
import { findProgram, programs } from './servers/programs.ts'

/** `skip` of node:test: why tests need Chromium and cannot have it. Rejects in CI, where none may be skipped. */
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
