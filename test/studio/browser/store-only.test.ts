// A studio that only has a store, which is PostgreSQL, while a worker in another process executes.
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { noChromium } from '../../support/chromium.ts'
import { freshSchema } from '../../support/postgres/fresh-schema.ts'
import { without } from '../../support/servers/shared-server.ts'
import { claimsCrew } from '../sample-crews.ts'
import { approveNow, browserOf, openStudio, sendNow } from './support.ts'

const skip = (await noChromium()) || (await without('postgres'))
const inputs = { notes: 'Policy P-77. Water in the cellar.', tone: 'a calm style' }

describe('a studio over PostgreSQL without the code of a crew', { skip }, () => {
  const browser = browserOf()

  test('answers and cancels runs that a worker in another process executes, and shows them as they go', async () => {
    await using schema = await freshSchema()
    await using crew = claimsCrew({ store: schema.url })
    await using studio = await openStudio({ store: schema.url, by: 'Grace' })
    await using window = await browser.open(studio.url)
    const { page } = window
    await crew.enqueue({ id: 'paid', inputs })
    await window.go('/runs')
    await window.until('.run-row', /queued.*paid/)
    await using _worker = await workerProcess(schema.url)
    await window.until('.run-row', /waiting.*paid/)

    await page.getByRole('link', { name: 'Waiting' }).click()
    await window.until('.question-place', /Approve this call\?/)
    const form = page.getByRole('form', { name: 'Your answer' })
    await approveNow(window)
    await window.until('.question-place', /Accept this result\?/)
    await form.getByRole('button', { name: 'Accept the result' }).click()
    await sendNow(page)
    await window.until('.question-place', /Did this call happen\?/)
    await form.getByRole('button', { name: /^It happened/ }).click()
    await form.getByLabel('Result').fill('{"posted": true}')
    await form.getByRole('button', { name: 'Use this result' }).click()
    await sendNow(page)
    await window.until('.main', /Nothing is waiting for you/)
    await window.go('/runs/paid')
    await window.until('.run-title', /completed/)
    assert.equal(await page.getByRole('button', { name: 'Replay' }).count(), 0, 'that needs the code')

    await crew.enqueue({ id: 'left', inputs })
    await window.go('/runs/left')
    await window.until('.run-title', /waiting/)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Cancel the run' }).click()
    await window.until('.run-title', /cancelled/)
    assert.equal((await crew.run('left').view()).status, 'cancelled')
    assert.deepEqual(window.problems, [])
  })
})

async function workerProcess(store: string): Promise<AsyncDisposable> {
  const child = fork(join(import.meta.dirname, 'worker-process.ts'), [store], {
    execArgv: ['--conditions=reprise-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(child, 'message')
  return {
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
