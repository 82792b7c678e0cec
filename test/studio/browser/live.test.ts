// A run on the page while it happens: from its start to its end, over the death of the process that executes it, over a
// connection that is cut, and in two browsers at once.
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Crew, Task } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { gate, speakingCrew, speakingModel } from '../../crew/runs/speaking-model.ts'
import { entriesOf } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { noChromium } from '../../support/chromium.ts'
import { clientOf } from '../support.ts'
import { lineTo } from './line.ts'
import { browserOf, builtPage, openStudio } from './support.ts'

const skip = await noChromium()

describe('a live run on the page', { skip }, () => {
  const browser = browserOf()

  test('is followed from its start, over a SIGKILL of its process and a resume, to its end on the page that was open', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using first = await studioProcess(store, '0', 0)
    await using window = await browser.open(first.url)
    const { page } = window
    await window.go('/crews/speaking')
    await page.getByLabel('Run id').fill('r')
    await page.getByRole('button', { name: 'Start', exact: true }).click()

    await window.until('.line.is-streaming', /Noted: the cellar/)
    await window.until('h1', /^r$/)
    first.process.send('go')
    await window.until('.line.is-streaming', /Dear Ada, we are/)
    await page.getByRole('link', { name: /^letter/ }).click()
    await window.until('.detail .streamed', /Dear Ada, we are/)
    await window.until('.line.is-task', /note.*executed/)
    assert.deepEqual(window.problems, [])

    first.process.kill('SIGKILL')
    await window.until('.lost-bar', /Connection lost/)
    await using second = await studioProcess(store, new URL(first.url).port, 1)
    await page.locator('.lost-bar').waitFor({ state: 'detached' })
    await window.until('.run-title', /abandoned/)
    // no model streams any more
    await page.locator('.line.is-streaming').waitFor({ state: 'detached' })

    // why, where, and what continues it
    const gone = await window.until('.gone-bar', /is gone/)
    assert.ok(gone.includes(`Process ${first.process.pid}`), gone)
    assert.match(gone, /at task letter#1/)
    const mark = await page.locator('.takeover.is-gone').getAttribute('title')
    assert.equal(mark, `process ${first.process.pid} recorded nothing after this`)
    await page.locator('.gone-bar').getByRole('button', { name: 'Resume' }).click()
    const dialog = page.getByRole('dialog')
    assert.match(await window.until('dialog .plan-tasks li', /letter/), /execute/)
    assert.deepEqual(second.calls, [])
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await window.until('.line.is-streaming', /Dear Ada, we are/)
    assert.doesNotMatch(await page.locator('.line.is-streaming').innerText(), /Dear Ada.*Dear Ada/)
    second.process.send('go')
    await window.until('.run-title', /completed/)
    assert.match(await window.until('.detail', /Output/), /Dear Ada, we are sorry for your loss\./)
    await page.locator('.line.is-step').nth(1).waitFor()
    assert.equal(await page.locator('.line.is-step').count(), 2)
    await window.until('.facts', /2 of 2/)
    const title = await page.locator('.takeover.is-gone').getAttribute('title')
    assert.equal(title, `process ${second.process.pid} continued: process ${first.process.pid} was gone`)
    assert.deepEqual([first.calls, second.calls], [[1, 2], [1]])
  })

  test('shows what a crew within a crew says while it does, at its task', async () => {
    const [store, go] = [memoryStore(), gate()]
    const model = speakingModel((call) => (call === 1 ? ['Noted: the cellar.'] : ['Dear Ada, ', go.wait, 'done.']))
    const inner = speakingCrew(model, { tasks: ['facts', 'letter'], store })
    const middle = new Crew({ name: 'middle', tasks: [new Task({ name: 'deep', crew: inner })], store })
    await using crew = new Crew({ name: 'outer', tasks: [new Task({ name: 'work', crew: middle })], store })
    await using studio = await openStudio({ crews: [crew] })
    await using window = await browser.open(studio.url)
    await window.go('/crews/outer')
    await window.page.getByLabel('Run id').fill('r')
    await window.page.getByRole('button', { name: 'Start', exact: true }).click()
    await window.until('.line.is-streaming', /Dear Ada,/)
    await window.page.getByRole('link', { name: /^letter/ }).click()
    await window.until('.detail .streamed', /Dear Ada,/)
    go.open()
    await window.until('.run-title', /completed/)
    await window.page.locator('.line.is-streaming').waitFor({ state: 'detached' })
    assert.deepEqual(window.problems, [])
  })

  test('catches up without loss after the connection was cut, and two browsers see the same', async () => {
    const [half, cut, rest] = [gate(), gate(), gate()]
    const texts = [
      ['Facts first: ', half.wait, 'water, ', cut.wait, 'mud, ', rest.wait, 'and no boiler.'],
      ['A second task.'],
      ['The third ', 'is the last.'],
    ]
    const model = speakingModel((call) => texts[call - 1] ?? [])
    const store = memoryStore()
    const crew = speakingCrew(model, { tasks: ['facts', 'second', 'third'], store })
    await using studio = await openStudio({ crews: [crew] })
    await using line = await lineTo(studio.url)
    await using one = await browser.open(line.url)
    await using two = await browser.open(studio.url, { viewport: { width: 360, height: 700 } })
    await clientOf(studio.url).post('POST /crews/{crew}/runs', '/crews/speaking/runs', { id: 'r', how: 'here' })
    for (const { go } of [one, two]) await go('/runs/r?at=facts')
    half.open()
    for (const { until } of [one, two]) await until('.detail .streamed', /Facts first: water,\s*$/)
    assert.deepEqual([one.problems, two.problems], [[], []])

    line.cut()
    await one.until('.lost-bar', /Connection lost/)
    cut.open()
    await two.until('.detail .streamed', /Facts first: water, mud,\s*$/)
    line.mend()
    await one.until('.detail .streamed', /^\s*Facts first: water, mud,\s*$/)
    await one.page.locator('.lost-bar').waitFor({ state: 'detached' })

    line.cut()
    await one.until('.lost-bar', /Connection lost/)
    rest.open()
    await two.until('.run-title', /completed/)
    line.mend()
    await one.until('.run-title', /completed/)
    await using fresh = await browser.open(studio.url)
    await fresh.go('/runs/r?at=facts')
    await fresh.until('.detail', /Facts first: water, mud, and no boiler\./)
    const shown = await fresh.page.locator('.timeline .window-list').innerText()
    await one.until('.detail', /Facts first: water, mud, and no boiler\./)
    await one.holds(`document.querySelector('.timeline .window-list').innerText === ${JSON.stringify(shown)}`)
    await two.page.locator('.line.is-step').nth(2).waitFor()
    assert.equal(await two.page.locator('.line.is-step').count(), 3)
    assert.equal((await entriesOf(store, 'r')).filter(({ type }) => type === 'model.replied').length, 3)
    assert.deepEqual([two.problems, fresh.problems], [[], []])
  })
})

interface StudioProcess extends AsyncDisposable {
  readonly process: ChildProcess
  readonly url: string
  /** Numbers of the model's calls. */
  readonly calls: readonly number[]
}

async function studioProcess(store: string, port: string, begun: number): Promise<StudioProcess> {
  const program = join(import.meta.dirname, 'studio-process.ts')
  const child = fork(program, [store, port, await builtPage(), String(begun)], {
    execArgv: ['--conditions=reprise-source'],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const calls: number[] = []
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  child.once('exit', () => reject(new Error('the process of the studio has ended')))
  promise.catch(() => {})
  child.on('message', (message: { readonly url?: string; readonly call?: number }) => {
    if (message.url !== undefined) resolve(message.url)
    if (message.call !== undefined) calls.push(message.call)
  })
  return {
    process: child,
    url: await promise,
    calls,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}
