// Crews within crews on the page of the outermost run: opened in place, read only then, live, by keyboard and by
// address.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task, tool } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { gate } from '../../crew/runs/speaking-model.ts'
import { noChromium } from '../../support/chromium.ts'
import { browserOf, openStudio, type Window } from './support.ts'

const skip = await noChromium()

/** research, a crew of dig, a crew of look (which waits in its tool) and tell → write. */
function nested(store: Store, wait: Promise<void> = Promise.resolve()): Crew {
  const model = scriptedModel([
    { when: 'Task: Look', calls: [{ tool: 'search', input: { word: 'tides' } }] },
    { when: 'Task: Look', reply: 'Tides rise.' },
    { when: 'Task: Tell', reply: 'They rise by 4 mm.' },
    { when: 'Task: Write', reply: 'Written.' },
  ])
  const agent = new Agent({ role: 'Writer', goal: 'g', model })
  const search = tool({
    name: 'search',
    description: 'Search',
    effect: 'read',
    input: z.object({ word: z.string() }),
    run: async ({ word }) => {
      await wait
      return `found ${word}`
    },
  })
  const look = new Task({ name: 'look', description: 'Look', agent, tools: [search] })
  const tell = new Task({ name: 'tell', description: 'Tell', agent })
  const dig = new Task({ name: 'dig', crew: new Crew({ name: 'digging', tasks: [look, tell] }) })
  const research = new Task({ name: 'research', crew: new Crew({ name: 'researching', tasks: [dig] }) })
  const write = new Task({ name: 'write', description: 'Write', agent })
  return new Crew({ name: 'reports', tasks: [research, write], store, logger: { info() {}, warn() {} } })
}

const names = async ({ page }: Window): Promise<string[]> =>
  (await page.locator('.line.is-task strong').allInnerTexts()).map((text) => text.trim())

/** The runs whose timelines the page requests. */
function timelinesOf({ page }: Window): string[] {
  const asked: string[] = []
  page.on('request', (request) => {
    const run = /\/api\/runs\/([^/]+)\/timeline$/.exec(request.url())?.[1]
    if (run !== undefined) asked.push(decodeURIComponent(run))
  })
  return asked
}

describe('nested crews on the page of a run', { skip }, () => {
  const browser = browserOf()

  test('are shown below their tasks while they work, step by step, and stay when they are done', async () => {
    const [store, go] = [memoryStore(), gate()]
    await using crew = nested(store, go.wait)
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    const { id } = await crew.kickoff({ id: 'r' }).started
    await window.go(`/runs/${id}`)
    await window.until('.line.is-step', /search.*in progress/)
    assert.deepEqual(await names(window), ['research', 'dig', 'look', 'tell', 'write'])
    go.open()
    await window.until('.run-title', /completed/)
    await window.until('.line.is-step', /reply.*They rise by 4 mm/)
    await window.until('.line.is-step', /search.*found tides/)
    assert.deepEqual(await names(window), ['research', 'dig', 'look', 'tell', 'write'])
    assert.deepEqual(window.problems, [])
  })

  test('are closed when they ended well, and read only when they are opened, by mouse or keyboard', async () => {
    const store = memoryStore()
    await nested(store).kickoff({ id: 'r' })
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    const { page } = window
    const asked = timelinesOf(window)
    await window.go('/runs/r')
    await window.until('.line.is-task', /write/)
    assert.deepEqual(await names(window), ['research', 'write'])
    assert.deepEqual(asked, ['r'])

    const fold = page.getByRole('button', { name: 'Tasks of research' })
    assert.equal(await fold.getAttribute('aria-expanded'), 'false')
    await fold.click()
    await window.until('.line.is-task', /dig/)
    assert.deepEqual(asked, ['r', 'r/research#1'])
    // from the first row to the crew within it
    await page.keyboard.press('Escape')
    await page.keyboard.press('j')
    await page.keyboard.press('j')
    await window.until('.line.is-chosen', /dig/)
    await page.keyboard.press('l')
    await window.until('.line.is-step', /found tides/)
    assert.deepEqual(await names(window), ['research', 'dig', 'look', 'tell', 'write'])
    for (let row = 0; row < 3; row++) await page.keyboard.press('j')
    await window.until('.line.is-chosen', /search/)
    await window.until('.detail', /tides/)

    // what is chosen goes with what is closed
    await fold.click()
    await window.until('.line.is-chosen', /research/)
    assert.deepEqual(await names(window), ['research', 'write'])
    assert.deepEqual(window.problems, [])
  })

  test('have their steps in the address of the outer run', async () => {
    const store = memoryStore()
    await nested(store).kickoff({ id: 'r' })
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    const { page } = window
    const inner = encodeURIComponent('research#1/dig#1')
    await window.go(`/runs/r?in=${inner}&at=${encodeURIComponent('look#1/1.0')}`)
    await window.until('.line.is-chosen', /search/)
    await window.until('.detail', /Arguments[\s\S]*tides[\s\S]*Result[\s\S]*found tides/)
    await page.locator('.detail').getByRole('link', { name: 'look' }).click()
    await window.until('.line.is-chosen', /look/)
    await window.until('.detail h2', /^look$/)
    assert.match(page.url(), new RegExp(`in=${inner.replaceAll('%2F', '(%2F|/)')}&at=look$`))
    // a task of the run itself is in no other
    await page.locator('.line.is-task').last().getByRole('link').click()
    await window.until('.detail h2', /^write$/)
    assert.ok(!page.url().includes('in='))
    assert.deepEqual(window.problems, [])
  })

  test('that a function kicked off are shown below its call, and opened in place', async () => {
    const store = memoryStore()
    const inner = nested(store)
    const kick = new Task({
      name: 'kick',
      effect: 'idempotent',
      run: () => inner.kickoff({ id: 'inner' }).then(String),
    })
    await new Crew({ name: 'kicking', tasks: [kick], store }).kickoff({ id: 'r' })
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/r')
    await window.until('.line.is-attempt', /inner#1/)
    await page.getByRole('button', { name: 'Tasks of kick#1/1.0/inner#1' }).click()
    await window.until('.line.is-task', /write/)
    assert.deepEqual(await names(window), ['kick', 'research', 'write'])
    await page.getByRole('button', { name: 'Tasks of research' }).click()
    await window.until('.line.is-task', /dig/)
    assert.deepEqual(await names(window), ['kick', 'research', 'dig', 'write'])
    assert.deepEqual(window.problems, [])
  })

  test('say so when their run is gone', async () => {
    const store = memoryStore()
    await nested(store).kickoff({ id: 'r' })
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    const { page } = window
    await page.route(/\/api\/runs\/r%2Fresearch%231$/, (route) =>
      route.fulfill({ status: 404, json: { code: 'RUN_NOT_FOUND', message: 'there is no run r/research#1' } }),
    )
    await window.go('/runs/r')
    await page.getByRole('button', { name: 'Tasks of research' }).click()
    await window.until('.line.is-missing', /Can’t show this run: there is no run r\/research#1/)
    assert.deepEqual(await names(window), ['research', 'write'])
  })
})
