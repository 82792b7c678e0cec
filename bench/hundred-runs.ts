// A hundred runs that append at once, each as soon as its last step is on disk.
import type { Store } from 'reprise/stores'
import { median } from './rounds.ts'
import { engineOn, openStepper } from './steps.ts'

export const runs = 100
const stepsATurn = 20

export interface HundredRuns {
  /** Appends `stepsATurn` steps to each run; returns the milliseconds for all of them. */
  turn(): Promise<[number]>
  finish(): Promise<void>
}

export async function openHundredRuns(store: Store): Promise<HundredRuns> {
  const engine = engineOn(store)
  const steppers = await Promise.all(Array.from({ length: runs }, () => openStepper(engine)))
  return {
    turn: () => timed(() => Promise.all(steppers.map(({ step }) => times(step)))),
    finish: async () => void (await Promise.all(steppers.map((stepper) => stepper.finish()))),
  }
}

/** The same number of steps by another implementation, one step of each run at a time. */
export function rawTurn(all: () => Promise<unknown>): Promise<[number]> {
  return timed(() => times(all))
}

/** Steps per second, from the milliseconds of rounds. */
export function rate(taken: readonly number[]): string {
  return Math.round((runs * stepsATurn * 1000) / median(taken)).toLocaleString('en')
}

async function times(step: () => Promise<unknown>): Promise<void> {
  for (let taken = 0; taken < stepsATurn; taken++) await step()
}

async function timed(work: () => Promise<unknown>): Promise<[number]> {
  const start = performance.now()
  await work()
  return [performance.now() - start]
}
