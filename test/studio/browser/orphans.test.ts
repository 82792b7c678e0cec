// The page of a run whose crew has no task for recorded work: it says so, and its resume dialog takes the decision.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Agent, Crew, Task } from 'reprise'
import { memoryStore, type Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { noChromium } from '../../support/chromium.ts'
import { browserOf, openStudio } from './support.ts'

const skip = await noChromium()
const logger = { info() {}, warn() {} }

/** Each task but the last waits for a person to accept its output. `nested`: the tasks are those of a nested crew. */
function trips(store: Store, names: readonly string[], { nested = false } = {}): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'Book', model: scriptedModel([{ when: /./, reply: 'Done.' }]) })
  const tasks = names.map(
    (name, index) => new Task({ name, description: `Do ${name}`, agent, humanInput: index < names.length - 1 }),
  )
  const outer = [new Task({ name: 'travel', crew: new Crew({ name: 'travelling', tasks }) })]
  return new Crew({ name: 'trips', tasks: nested ? outer : tasks, store, logger })
}

describe('orphaned tasks on the page of a run', { skip, timeout: 240_000 }, () => {
  const browser = browserOf()

  test('are named, and the run is resumed once each has its decision', async () => {
    const store = memoryStore()
    await trips(store, ['pick', 'book', 'mail']).kickoff({
      id: 'r',
      onQuestion: ({ path }) => (path.startsWith('pick') ? { decision: 'approve' } : undefined),
    })
    await using studio = await openStudio({ crews: [trips(store, ['choose', 'post', 'mail'])] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/r')
    await window.until(
      '.orphans-bar',
      /no task for the recorded work of pick \(.*book \(.*Decide what happens to it to continue the run/s,
    )
    await page.locator('.orphans-bar').getByRole('button', { name: 'Decide' }).click()
    const resume = page.locator('dialog').getByRole('button', { name: 'Resume' })
    await window.until('dialog .plan-sum', /executed/)
    assert.equal(await resume.isDisabled(), true)

    const fate = (task: string) => page.getByLabel(`Recorded work of ${task}`)
    assert.equal(await fate('pick').inputValue(), '')
    assert.deepEqual(await fate('book').locator('option').allInnerTexts(), [
      'Choose …',
      'Continue as choose',
      'Continue as post',
      'Continue as mail',
      'Drop it',
    ])
    await fate('pick').selectOption('Drop it')
    await window.until('dialog .plan', /removed pick/)
    assert.equal(await resume.isDisabled(), true)
    await fate('book').selectOption('Continue as post')
    await window.until('dialog .plan', /renamed book to post/)
    await resume.and(page.locator(':enabled')).click()
    await window.until('.line.is-task', /post/)
    await window.holds(`!document.querySelector('.orphans-bar') && !document.querySelector('dialog')`)
    assert.deepEqual(window.problems, [])
  })

  test('of a nested crew may become the tasks of that crew', async () => {
    const store = memoryStore()
    await trips(store, ['book', 'mail'], { nested: true }).kickoff({ id: 'r' })
    await using studio = await openStudio({ crews: [trips(store, ['pay', 'mail'], { nested: true })] })
    await using window = await browser.open(studio.url)
    const { page } = window
    await window.go('/runs/r?action=resume')
    const fate = page.getByLabel('Recorded work of travel/book')
    await fate.selectOption('Continue as pay')
    await page.locator('dialog').getByRole('button', { name: 'Resume' }).and(page.locator(':enabled')).click()
    await window.until('.line.is-task', /pay/)
    assert.deepEqual(window.problems, [])
  })

  test("have a command if the code of the crew isn't loaded", async () => {
    const store = memoryStore({ url: 'memory:trips' })
    const old = trips(store, ['book', 'mail'])
    await old.kickoff({ id: 'r' })
    await old.run('r').answer('q1', { decision: 'approve' })
    const now = trips(store, ['post', 'mail'])
    await now.advance('r')
    await using studio = await openStudio({ store })
    await using window = await browser.open(studio.url)
    await window.go('/runs/r')
    await window.until('.orphans-bar', /reprise resume r --renamed book=post/)
    assert.equal(await window.page.getByRole('button', { name: 'Decide' }).count(), 0)
  })
})
