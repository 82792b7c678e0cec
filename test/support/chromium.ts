// Debian's Chromium, without a window; or why there is none. Pages of tests are on 127.0.0.1, and the browser reaches
// nothing else.
import { access } from 'node:fs/promises'
import { chromium, type Browser } from 'playwright-core'

/** Where the package puts it. */
const program = process.env['REPRISE_TEST_CHROMIUM'] ?? '/usr/bin/chromium'

/** For `skip` of a test: false, or why it cannot run here. In CI it has to. */
export async function noChromium(): Promise<string | false> {
  if (process.env['CI'] === 'true') return false
  const isThere = await access(program).then(
    () => true,
    () => false,
  )
  return isThere ? false : `${program} is not installed (scripts/install-test-servers.sh)`
}

export function openChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: program,
    headless: true,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
    ],
  })
}
