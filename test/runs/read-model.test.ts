// One read model: the list entry of a run equals its view, and each open question is found once, in every query.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { costOfRun } from '../../src/read/costs.ts'
import { readSummary } from '../../src/read/row-summary.ts'
import { addUsage, isEnded, noUsage } from '../../src/journal/state/state.ts'
import { parentRunId } from '../../src/journal/paths.ts'
import { allRuns, listRuns } from '../../src/runs/list.ts'
import { waitingQuestions } from '../../src/runs/waiting-questions.ts'
import { buildRunView, viewRun, type RunView, readRunTree } from '../../src/runs/run-view.ts'
import { runViewStatuses, type RunViewStatus } from '../../src/runs/status.ts'
import type { RunRow } from '../../src/stores/store.ts'
import { newStore } from '../engine/support.ts'
import { deeds, history } from './histories.ts'

const seen = new Set<RunViewStatus>()
const prices = { 'scripted/script': { input: 3, output: 7.7 } }

test("after any history, every field of a run's summary equals that of its view", async () => {
  await fc.assert(
    fc.asyncProperty(deeds, async (done) => {
      const store = newStore()
      const past = history(store)
      for (const deed of done) {
        await past.perform(deed)
        for await (const summary of allRuns({ store, prices }, {})) {
          const unit = await readRunTree(store, summary.runId)
          const view = { ...(await buildRunView(unit)), cost: await costOfRun(unit.state, prices) }
          seen.add(view.status)
          assert.ok((view.cost ?? 0) > 0 === view.usage.calls > 0)
          const common = Object.keys(summary).map((field) => [field, view[field as keyof RunView]])
          assert.deepEqual(summary, Object.fromEntries(common), JSON.stringify(deed))
        }
      }
    }),
    { numRuns: 80, seed: 12 },
  )
  // or the histories would prove little
  for (const status of ['completed', 'waiting', 'queued', 'stopped', 'abandoned', 'failed', 'cancelled'] as const)
    assert.ok(seen.has(status), `no history has a run that is ${status}`)
})

test('after any history, the list of open questions has those of the views of all root runs', async () => {
  await fc.assert(
    fc.asyncProperty(deeds, async (done) => {
      const store = newStore()
      const past = history(store)
      for (const deed of done) {
        await past.perform(deed)
        const expected: string[] = []
        for await (const { runId } of allRuns({ store }, { roots: true }))
          for (const { id, askedAt } of (await viewRun({ store }, runId)).questions)
            expected.push(`${askedAt} ${runId} ${id}`)
        const { questions, unreadable } = await waitingQuestions(store)
        const found = questions.map(({ askedAt, runId, id }) => `${askedAt} ${runId} ${id}`)
        assert.deepEqual(found.toSorted(), expected.toSorted())
        assert.deepEqual(unreadable, [])
        assert.deepEqual(
          questions.map(({ askedAt }) => askedAt),
          questions.map(({ askedAt }) => askedAt).toSorted(),
        )
        for (const { runId } of questions) {
          assert.equal(parentRunId(runId), undefined)
          assert.ok(!isEnded((await store.row(runId))?.status))
        }
      }
    }),
    { numRuns: 50, seed: 7 },
  )
})

test("after any history, the usage of a run's tasks adds up to that of the run and to its row by day", async () => {
  await fc.assert(
    fc.asyncProperty(deeds, async (done) => {
      const store = newStore()
      const past = history(store)
      for (const deed of done) await past.perform(deed)
      for await (const { runId, usage } of allRuns({ store }, {})) {
        const { tasks } = await viewRun({ store }, runId)
        const own = tasks.filter(({ status }) => status !== 'inherited').map((task) => task.usage)
        assert.deepEqual(own.reduce(addUsage, noUsage), usage)
        const row = await store.row(runId)
        const { usage: listed, spent = [] } = readSummary(row as RunRow)
        const days = spent.map(({ day, time, model, ...used }) => ({ day, time, model, used }))
        assert.deepEqual(days.map(({ used }) => used).reduce(addUsage, noUsage), listed)
        assert.ok(days.every(({ day, model }) => /^\d{4}-\d\d-\d\d$/.test(day) && model === 'scripted/script'))
        assert.ok(days.every(({ time = '' }) => /^\d\d:[03]0$/.test(time)))
      }
    }),
    { numRuns: 50, seed: 5 },
  )
})

test('a list filtered by a status has exactly the runs that show it', async () => {
  await fc.assert(
    fc.asyncProperty(deeds, async (done) => {
      const store = newStore()
      const past = history(store)
      for (const deed of done) await past.perform(deed)
      const all = await listRuns({ store }, {}, { limit: 1_000 })
      for (const status of Object.keys(runViewStatuses) as RunViewStatus[])
        assert.deepEqual(
          await listRuns({ store }, { status: [status] }, { limit: 1_000 }),
          all.filter((run) => run.status === status),
        )
    }),
    { numRuns: 30, seed: 3 },
  )
})
