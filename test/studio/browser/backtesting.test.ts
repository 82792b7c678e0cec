// A backtest from the page: what it will do is shown first, how far it is while it works, and a kill loses nothing that
// is done.
import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { Flow } from 'reprise'
import { memoryStore } from 'reprise/stores'
import { quiet } from '../../flows/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { noChromium } from '../../support/chromium.ts'
import { browserOf, builtPage, openStudio } from './support.ts'
import { topicsCrew } from './topics-crew.ts'

const skip = await noChromium()
const topics = ['cellar', 'roof', 'door', 'stairs', 'garden', 'attic']

describe('a backtest', { skip }, () => {
  const browser = browserOf()

  test('is planned, started from a task of a run, and shown as what was before and what comes out now', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using before = topicsCrew(store, 'calm')
    for (const topic of topics.slice(0, 3)) await before.kickoff({ id: topic, inputs: { topic } })
    let asked = 0
    await using studio = await openStudio({ crews: [topicsCrew(store, 'warm', async () => void asked++)] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/roof?at=note')
    await page.getByRole('button', { name: 'Backtest' }).click()
    await window.until('dialog .plan-sum', /note will be executed 1 time\. Expected: about \S+ tokens/)
    await page.getByLabel('Run it on', { exact: true }).selectOption('last')
    await window.until('dialog .plan-sum', /note will be executed 3 times/)
    await page.getByLabel('Number of runs').fill('2')
    await window.until('dialog .plan-sum', /note will be executed 2 times/)
    await window.until('dialog .plan-tasks li', /description changed/)
    assert.equal(asked, 0, 'nothing is spent before a person agrees')

    await page.getByRole('button', { name: 'Start backtest' }).click()
    await window.until('h1', /Backtest of note/)
    await window.until('.sum', /Different\s*2/)
    await window.until('.case', /different.*roof.*calm.*warm/s)
    await page.getByRole('button', { name: 'Add runs' }).waitFor()
    assert.equal(asked, 2)
    await window.go('/compare')
    await window.until('td', /^note$/)
    assert.deepEqual(window.problems, [])
  })

  test('is offered for a step of a flow, alone or with all of its keys', async () => {
    const store = memoryStore()
    const letters = (how: string) =>
      new Flow({
        name: 'letters',
        store,
        logger: quiet,
        async run(flow) {
          const all = await flow.step('topics', { effect: 'read' }, () => ['roof', 'door'])
          await Promise.all(
            all.map((input) => flow.step('letter', { key: input, input, effect: 'read' }, (one) => `${how} ${one}`)),
          )
          return flow.sleep('nap', { seconds: 0.01 })
        },
      })
    await letters('calm').kickoff({ id: 'r' })
    await using studio = await openStudio({ crews: [letters('warm')] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/r?at=nap')
    await page.getByRole('button', { name: 'Replay from here' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Backtest' }).count(), 0)
    await window.go('/runs/r?at=letter%5Broof%5D')
    await page.getByRole('button', { name: 'Backtest' }).click()
    await window.until('dialog .plan-sum', /letter\[roof\] will be executed 1 time\. No model calls expected/)
    await page.getByLabel('Task', { exact: true }).selectOption('letter')
    await window.until('dialog .plan-sum', /letter will be executed 2 times/)
    await window.until('dialog .plan-tasks li', /r letter\[roof\]/)
    await page.getByRole('button', { name: 'Start backtest' }).click()
    await window.until('h1', /Backtest of letter/)
    await window.until('.sum', /Different\s*2/)
    await window.until('.case', /r letter\[(roof|door)\].*calm.*warm/s)
    assert.deepEqual(window.problems, [])
  })

  test('of a killed studio keeps its finished trials, and is continued by another studio', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using before = topicsCrew(store, 'calm')
    for (const topic of topics) await before.kickoff({ id: topic, inputs: { topic } })
    await using first = await studioProcess(store, 4)
    {
      await using window = await browser.open(first.url)
      await window.go('/crews/topics?backtest=note')
      await window.page.getByRole('button', { name: 'Start backtest' }).click()
      await window.until('.backtest-progress', /4 of 6 done/)
      first.child.kill('SIGKILL')
    }
    await using second = await studioProcess(store, 100)
    await using window = await browser.open(second.url)
    await window.go('/compare')
    await window.page.getByRole('table').getByRole('link').click()
    await window.until('.note', /Stopped or interrupted: 2 of 6 trials are not done/)
    await window.page.getByRole('button', { name: 'Continue' }).click()
    await window.until('dialog .plan-sum', /note will be executed 2 times/)
    await window.page.getByRole('button', { name: 'Continue backtest' }).click()
    await window.until('.sum', /Different\s*6/)
    assert.equal(second.asked(), 2, 'what was done is not paid again')
    assert.deepEqual(window.problems, [])
  })

  test('is stopped from the page', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await using before = topicsCrew(store, 'calm')
    for (const topic of topics) await before.kickoff({ id: topic, inputs: { topic } })
    const never = new Promise<void>(() => {})
    await using studio = await openStudio({ crews: [topicsCrew(store, 'warm', () => never)] })
    await using window = await browser.open(studio.url)
    await window.go('/crews/topics?backtest=note')
    await window.page.getByRole('button', { name: 'Start backtest' }).click()
    await window.until('.backtest-progress', /0 of 6 done/)
    await window.page.getByRole('button', { name: 'Stop' }).click()
    await window.until('.note', /Stopped or interrupted: 6 of 6 trials are not done/)
    await window.page.getByRole('button', { name: 'Continue' }).waitFor()
    assert.deepEqual(window.problems, [])
  })
})

interface StudioProcess extends AsyncDisposable {
  readonly url: string
  readonly child: ChildProcess
  asked(): number
}

async function studioProcess(store: string, answers: number): Promise<StudioProcess> {
  const path = fileURLToPath(new URL('backtest-process.ts', import.meta.url))
  const child = fork(path, [store, await builtPage(), String(answers)], { execArgv: ['--conditions=reprise-source'] })
  let asked = 0
  const url = await new Promise<string>((resolve, reject) => {
    child.once('exit', (code) => reject(new Error(`it ended with ${code}`)))
    child.on('message', (said: { url?: string; asked?: number }) => {
      if (said.url !== undefined) resolve(said.url)
      asked = said.asked ?? asked
    })
  })
  const end = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
  return { url, child, asked: () => asked, [Symbol.asyncDispose]: end }
}
