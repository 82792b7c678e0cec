// Random flows with random histories: kills, stops, answers, events, edits. A failure prints the command that repeats
// it. REPRISE_FLOW_SEED and REPRISE_FLOW_RUNS set the seed and the number of histories.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import fc from 'fast-check'
import { memoryStore } from '../../src/stores/memory/store.ts'
import { sqliteStore } from '../../src/stores/sqlite/store.ts'
import type { Store } from '../../src/stores/store.ts'
import { isFull } from '../support/full.ts'
import { quickFolder } from '../support/quick-folder.ts'
import { hunt } from './fuzz/hunt.ts'
import { orderMutants, otherMutants } from './fuzz/mutants.ts'

const { REPRISE_FLOW_SEED = '1', REPRISE_FLOW_RUNS, REPRISE_FLOW_PATH: path } = process.env

async function playHistories(
  open: (now: () => number) => Store | Promise<Store>,
  runs: number,
  seed = Number(REPRISE_FLOW_SEED),
): Promise<void> {
  const numRuns = Number(REPRISE_FLOW_RUNS ?? runs)
  const found = await hunt({ open, seed, numRuns, path })
  if (!found.failed) return
  const command = 'node --conditions=reprise-source --test test/flows/fuzz.test.ts'
  const again = `REPRISE_FLOW_SEED=${found.seed} REPRISE_FLOW_PATH=${found.counterexamplePath} ${command}`
  assert.fail(`${String(found.errorInstance)}\n${fc.defaultReportMessage(found)}\nto play it again: ${again}`)
}

describe('flows with random histories', () => {
  // in parts: on a busy machine, each takes minutes
  for (const part of Array.from({ length: isFull ? 10 : 1 }, (_, index) => index))
    test(`random flows receive the same in every process, and repeat no recorded step (part ${part + 1})`, async () => {
      await playHistories((now) => memoryStore({ now }), isFull ? 100 : 80, Number(REPRISE_FLOW_SEED) + part)
    })

  test('random flows on SQLite receive the same in every process, and repeat no recorded step', async () => {
    const folder = mkdtempSync(join(quickFolder(), 'reprise-flows-'))
    let stores = 0
    try {
      await playHistories((now) => sqliteStore(join(folder, `${++stores}.db`), { now }), isFull ? 100 : 5)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

test('every planted defect of flows matches a place in the source', () => {
  for (const [defect, { file, before }] of Object.entries({ ...orderMutants, ...otherMutants }))
    assert.ok(readFileSync(join(import.meta.dirname, '../..', file), 'utf8').includes(before), defect)
})

describe('random histories of flows', () => {
  const source = '--conditions=reprise-source'
  const program = join(import.meta.dirname, 'fuzz/hunt-mutant.ts')
  for (const defect of Object.keys(isFull ? { ...orderMutants, ...otherMutants } : orderMutants)) {
    test(`random histories of flows detect the defect: ${defect}`, async () => {
      const most = isFull ? '1000' : '50'
      const { stdout } = await promisify(execFile)(process.execPath, [source, program, defect, most])
      const { failed, numRuns } = JSON.parse(stdout) as { failed: boolean; numRuns: number }
      assert.ok(failed, `${numRuns} histories found nothing`)
    })
  }
})
