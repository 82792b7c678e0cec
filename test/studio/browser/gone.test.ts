// Runs whose processes ended: the page says why, where, and what continues them, as an act and as a command.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { elsewhere } from '../../../src/testing/store-contract/harness.ts'
import { dieWhen } from '../../crash/mortal.ts'
import { stateOf } from '../../engine/support.ts'
import { noChromium } from '../../support/chromium.ts'
import { workOnce } from '../../workers/worker-crews.ts'
import { browserOf, openStudio } from './support.ts'

const skip = await noChromium()
const hour = 3_600_000
const command = 'npx reprise resume r --file jobs/crews.ts --crew crashing --store memory:crashing'

/** Its second task ends the process. */
function crashing(store: Store, effect: 'read' | 'once', die: () => void = () => {}): Crew {
  const prepare = new Task({ name: 'prepare', effect: 'read', run: () => 'ready' })
  const work = new Task({
    name: 'work',
    effect,
    async run() {
      die()
      return 'done'
    },
  })
  const crew = new Crew({ name: 'crashing', tasks: [prepare, work], store, logger: { info() {}, warn() {} } })
  return crew.with({ module: { file: 'jobs/crews.ts', export: 'crashing' } })
}

/** Workers take the run up until it is as wanted. */
async function afterDeaths(effect: 'read' | 'once', isThere: (status: string, deaths: number) => boolean) {
  let passed = 0
  const store = memoryStore({ url: 'memory:crashing', now: () => Date.now() + passed })
  await crashing(store, effect).enqueue({ id: 'r' })
  for (let deaths = 0; !isThere((await stateOf(store, 'r')).status, deaths); deaths++) {
    assert.ok(deaths < 20, 'it is never as wanted')
    await dieWhen(store, elsewhere(`box${deaths}`), (own, die) => workOnce([crashing(own, effect, die)]))
    passed += hour
  }
  return store
}

describe('the page of a run whose process ended', { skip, timeout: 240_000 }, () => {
  const browser = browserOf()

  test('names for a given-up run where its processes ended, and how to continue it', async () => {
    const store = await afterDeaths('read', (status) => status === 'suspended')
    await using studio = await openStudio({ crews: [crashing(store, 'read')] })
    await using without = await openStudio({ store })
    await using window = await browser.open(studio.url)
    await window.go('/runs/r')
    const words = await window.until('.gone-bar', /at step work#1\/1\.0/)
    assert.match(words, /The last process, process \d+ on \S+, ended at step/)
    assert.ok(words.includes(command), words)
    await window.page.locator('.takeover.is-gone').last().waitFor()
    await window.page.locator('.gone-bar').getByRole('button', { name: 'Resume' }).click()
    await window.until('dialog .plan-tasks li', /work/)
    assert.deepEqual(window.problems, [])

    await using codeless = await browser.open(without.url)
    await codeless.go('/runs/r')
    await codeless.until('.gone-bar', /npx reprise requeue r --store memory:crashing/)
  })

  test('names for an abandoned run the command that continues it, and shows an open call as unrecorded', async () => {
    const store = await afterDeaths('once', (_, deaths) => deaths === 1)
    await using studio = await openStudio({ crews: [crashing(store, 'once')] })
    await using window = await browser.open(studio.url)
    await window.go('/runs/r')
    await window.until('.run-title', /abandoned/)
    assert.ok((await window.until('.gone-bar', /npx reprise resume/)).includes(command))
    await using without = await openStudio({ store })
    await using codeless = await browser.open(without.url)
    await codeless.go('/runs/r')
    assert.ok((await codeless.until('.gone-bar', /A worker of the crew will continue the run/)).includes(command))
    const call = await window.until('.line.is-step', /outcome not recorded/)
    assert.doesNotMatch(call, /in progress/)
    await window.page.locator('.line.is-step').last().locator('.line-link').click()
    await window.until('.detail', /Result\s*The outcome of this call isn’t recorded/)
    assert.doesNotMatch(await window.page.locator('.detail .facts-line').innerText(), /·\s*$/)
  })
})
