// A view that was not opened before, when the server is gone.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { noChromium } from '../../support/chromium.ts'
import { browserOf, openStudio } from './support.ts'

const skip = await noChromium()

describe('a view opened while the server is gone', { skip, timeout: 240_000 }, () => {
  const browser = browserOf()

  test('says that the server cannot be reached, and not which file the browser did not get', async () => {
    await using studio = await openStudio({ store: memoryStore() })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/')
    await window.until('.state-title', /Nothing/)
    await studio.close()
    await page.getByRole('link', { name: 'Crews' }).first().click()
    const words = await window.until('.state.is-error', /Something went wrong/)
    assert.match(words, /Can’t reach the studio’s server/)
    assert.doesNotMatch(words, /assets|CSS/)
    await page.getByRole('button', { name: 'Try again' }).click()
    await window.until('.state.is-error', /Can’t reach the studio’s server/)
  })
})
