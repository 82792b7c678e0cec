// Invariant 12 with real processes: whatever is killed when, every run that is queued ends as if nothing had happened.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { test } from 'node:test'
import type { Run } from 'reprise'
import type { Store } from 'reprise/stores'
import { readRun } from '../../src/engine/read/read-run.ts'
import { isStep } from '../../src/journal/entries.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { entriesOf } from '../engine/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { bundle } from '../support/bundle.ts'
import { isFull } from '../support/full.ts'
import { claims, killedCrew, stepsOfRun } from './killed-crew.ts'

const [processes, count, concurrency] = isFull ? [8, claims.length, 4] : [3, 12, 2]
/** How many steps all workers take between two kills. */
const between = isFull ? { least: 30, most: 90 } : { least: 5, most: 20 }

test(`${count} runs in ${processes} workers that are killed at random until all are done end as undisturbed ones`, async () => {
  await using folder = await temporaryFolder()
  const place = `sqlite:${join(folder.path, 'runs.db')}`
  const ledger = join(folder.path, 'ledger')
  await using crew = killedCrew(place, ledger)
  const ids = claims.slice(0, count)
  for (const id of ids) await crew.enqueue({ id, inputs: { claim: id } })

  const store = await openStore(place)
  const kills = await killUntilDone(place, ledger, async () => {
    for await (const { runId } of crew.runs({ status: 'waiting' })) await settleDoubts(crew.run(runId), ledger)
    const open = await Array.fromAsync(crew.runs({ status: ['queued', 'running', 'abandoned', 'waiting', 'stopped'] }))
    for (const { runId } of open) if (!(await isPutAside(store, runId))) return false
    return true
  })

  await using undisturbed = killedCrew('memory:', `${ledger}-undisturbed`)
  for (const id of ids) {
    const expected = await undisturbed.kickoff({ id, inputs: { claim: id } })
    const result = await crew.run(id).result()
    assert.equal(result.status, 'completed', result.status === 'suspended' ? result.facts : id)
    assert.deepEqual(outputs(result), outputs(expected), id)
    const entries = await entriesOf(store, id)
    assert.equal(entries.filter(isStep).length, stepsOfRun, id)
  }
  await store.close()
  assert.deepEqual(linesOf(ledger).toSorted(), linesOf(`${ledger}-undisturbed`).toSorted())
  assert.ok(kills > 0)
})

/** For good: nobody would take it up any more. */
async function isPutAside(store: Store, run: string): Promise<boolean> {
  const { state } = await readRun(store, run)
  return state.suspended?.reason === 'takeovers'
}

/** A call that was cut off again and again is left to a person, who looks whether it happened. */
async function settleDoubts(run: Run, ledger: string): Promise<void> {
  for (const question of (await run.view()).questions) {
    if (question.kind !== 'doubt') continue
    const happened = linesOf(ledger).some((line) => line.startsWith(`${run.id} ${question.tool} `))
    await run.answer(question.id, happened ? { decision: 'happened', result: 'found' } : { decision: 'run' })
  }
}

/** Gives how many were killed. */
async function killUntilDone(place: string, ledger: string, isDone: () => Promise<boolean>): Promise<number> {
  const { file, variables } = await bundle(join(import.meta.dirname, 'worker-process.ts'))
  const living = new Set<ChildProcess>()
  const over = new AbortController()
  let kills = 0
  let quota = between.least
  function start(): void {
    const child = spawn(process.execPath, [file, place, ledger, String(concurrency)], {
      env: { ...process.env, ...variables, REPRISE_LEASE_SECONDS: '2' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    living.add(child)
    child.once('close', (code) => {
      living.delete(child)
      if (!child.killed) over.abort(new Error(`a worker ended by itself, with code ${code}`))
    })
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      for (const what of text.split('\n').slice(0, -1)) heard(child, what)
    })
  }
  /** Of those whose time has come, every second one is killed within a `once` call. Another comes for it. */
  function heard(child: ChildProcess, what: string): void {
    quota--
    if (quota > 0 || child.killed || (kills % 2 === 0 && what !== 'within')) return
    quota = between.least + Math.floor(Math.random() * (between.most - between.least))
    kills++
    child.kill('SIGKILL')
    child.once('close', start)
  }
  for (let index = 0; index < processes; index++) start()
  while (!(await isDone())) await wait(50, undefined, { signal: over.signal })
  quota = Infinity
  const closed = [...living].map((child) => once(child, 'close'))
  for (const child of living) child.kill('SIGTERM')
  await Promise.all(closed)
  return kills
}

function outputs({ tasks }: { readonly tasks: readonly { readonly raw: string }[] }): string[] {
  return tasks.map(({ raw }) => raw)
}

/** What was done to the world, without the keys: they say which run it was for. */
function linesOf(ledger: string): string[] {
  return existsSync(ledger) ? readFileSync(ledger, 'utf8').split('\n').slice(0, -1) : []
}
