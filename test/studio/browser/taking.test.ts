// A run taken from where it stands, from its page: what will happen is shown first, and until then no model is asked.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Crew } from 'reprise'
import { noChromium } from '../../support/chromium.ts'
import { claims, model } from '../support.ts'
import { browserOf, openStudio, type Window } from './support.ts'

const skip = await noChromium()

describe('a new run made from the page of another', { skip }, () => {
  const browser = browserOf()

  async function withRun(use: (crew: Crew, window: Window) => Promise<void>): Promise<void> {
    await using crew = claims()
    const pay = { decision: 'approve' } as const
    await crew.kickoff({ id: 'r', inputs: { notes: 'P-77, a pipe' }, onQuestion: () => pay })
    await using studio = await openStudio({ crews: [crew], by: 'Grace' })
    await using window = await browser.open(studio.url)
    await window.go('/runs/r')
    await window.until('.run-title', /completed/)
    await use(crew, window)
    assert.deepEqual(window.problems, [])
  }

  test('replays from a task, by the plan that it shows', () =>
    withRun(async (crew, window) => {
      const { page } = window
      await page.getByRole('link', { name: /^settle/ }).click()
      const before = model.calls.length
      await page.getByRole('button', { name: 'Replay from here' }).click()
      await window.until('dialog .plan-tasks li', /^inheritfacts/)
      await window.until('dialog .plan-tasks li', /^executesettle/)
      await window.until('dialog .plan-sum', /1 of 2 tasks will be executed\. Expected: about \S+ tokens/)
      await page.getByLabel('From task').selectOption('facts')
      await window.until('dialog .plan-sum', /2 of 2 tasks will be executed/)
      await page.getByLabel('From task').selectOption('settle')
      await window.until('dialog .plan-sum', /1 of 2 tasks will be executed/)
      assert.equal(model.calls.length, before, 'nothing is spent before a person agrees')

      await page.getByRole('button', { name: 'Start new run' }).click()
      await window.until('.facts', /Forked from\s*r at settle/)
      await window.until('.run-title', /completed/)
      await window.until('.line.is-task', /facts.*inherited/)
      // the recorded result of the payment is used, so only the two turns call the model
      assert.equal(model.calls.length, before + 2)
      const [id] = (await crew.run('r').lineage()).run.children.map(({ runId }) => runId)
      assert.equal(await page.locator('h1').innerText(), id)
    }))

  test('forks with an edited input', () =>
    withRun(async (crew, window) => {
      const { page } = window
      const before = model.calls.length
      await page.getByRole('button', { name: 'Fork' }).click()
      const start = page.getByRole('button', { name: 'Start new run' })
      assert.ok(await start.isDisabled(), 'nothing is changed yet')
      await page.getByLabel('notes').fill('P-88, a storm')
      await window.until('dialog .plan-tasks li', /^executefacts/)
      await window.until('dialog .plan-sum', /2 of 2 tasks will be executed/)
      assert.equal(model.calls.length, before)

      await start.click()
      await window.until('.facts', /Forked from\s*r/)
      await window.until('.run-title', /completed/)
      const fork = await crew.run(await page.locator('h1').innerText()).view()
      assert.deepEqual(fork.inputs, { notes: 'P-88, a storm' })
      assert.equal(fork.tasks[1]?.raw, 'Paid for P-88')
      assert.equal(model.calls.length, before + 3)
    }))

  test('forks with an edited output, in a form made from its schema', () =>
    withRun(async (crew, window) => {
      const { page } = window
      await page.getByRole('link', { name: /^facts/ }).click()
      const before = model.calls.length
      await page.getByRole('button', { name: 'Edit output' }).click()
      const form = page.getByRole('group', { name: 'Output of facts' })
      assert.equal(await form.getByLabel('issue').inputValue(), 'water')
      await form.getByLabel('policy').fill('P-99')
      await window.until('dialog .plan-tasks li', /^editfacts/)
      await window.until('dialog .plan-tasks li', /^executesettle/)
      assert.equal(model.calls.length, before)

      await page.getByRole('button', { name: 'Start new run' }).click()
      await window.until('.facts', /Forked from\s*r/)
      await window.until('.line.is-task', /facts.*edited/)
      await window.until('.run-title', /completed/)
      const fork = await crew.run(await page.locator('h1').innerText()).view()
      assert.deepEqual(JSON.parse(fork.tasks[0]?.raw ?? ''), { policy: 'P-99', issue: 'water' })
      assert.equal(fork.tasks[1]?.raw, 'Paid for P-99')
      assert.equal(model.calls.length, before + 2)
    }))
})
