// Fills a store for the pictures of the studio: with the samples, and with runs that only pictures need. It takes some
// seconds, because the scripted models pause: without durations, bars would have no length.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Crew } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import {
  briefingCrew,
  checksCrew,
  claimsCrew,
  claimsScript,
  factsValue,
  tightCrew,
} from '../../test/studio/sample-crews.ts'
import { answer, fillStore } from '../../test/studio/sample-store.ts'
import { coastCrew } from './coast-crew.ts'
import { pauses } from './pauses.ts'

/** Fills the store, and returns the crews whose runs are in it. */
export async function fillForPictures(store: string): Promise<readonly Crew[]> {
  const pauseMs = pauses()
  const crews = [claimsCrew, checksCrew, briefingCrew, tightCrew, coastCrew].map((make) => make({ store, pauseMs }))
  const [claims, checks, , , coast] = crews as [Crew, Crew, Crew, Crew, Crew]
  await fillStore(store, pauseMs)
  await backtest(claims)
  const inputs = { company: 'West Gate' }
  await checks.schedule({ name: 'nightly', cron: '0 2 * * *', timezone: 'Europe/Berlin', inputs })
  await checks.enqueueNext('nightly')
  await coast.kickoff({ id: 'coast-of-yorkshire', inputs: { coast: 'the coast of Yorkshire' } })
  await killedAndResumed(claims, store, 'claim-4716')
  return crews
}

/** Backtests code that decides one of three cases differently. */
async function backtest(claims: Crew): Promise<void> {
  let judged = 0
  const other = { ...factsValue, covered: false, damages: factsValue.damages.slice(0, 1) }
  const facts = {
    when: /Extract the facts/,
    after: 1,
    reply: () => JSON.stringify(judged++ === 1 ? other : factsValue),
  }
  const [lookUp, ...rest] = claimsScript
  const model = scriptedModel([lookUp!, facts, ...rest], { name: 'gpt-5-mini' })
  await claims.with({ model }).backtest('facts', { id: 'facts-again', runs: 3 })
}

async function killedAndResumed(claims: Crew, store: string, id: string): Promise<void> {
  const program = join(import.meta.dirname, 'killed-life.ts')
  const child = spawn(process.execPath, ['--conditions=reprise-source', program, store, id], { stdio: 'inherit' })
  const [, signal] = (await once(child, 'exit')) as [number | null, string | null]
  if (signal !== 'SIGKILL') throw new Error(`the first life of ${id} ended with ${signal}, not with SIGKILL`)
  await sleep(700)
  await claims.run(id).resume({ onQuestion: answer })
}
