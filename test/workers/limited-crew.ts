// A crew limited to one run at a time, which records when each ran.
import { appendFileSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Crew, Task } from 'reprise'

export const runIds = ['a', 'b', 'c', 'd']

export function limitedCrew(store: string, ledger: string) {
  const task = new Task({
    name: 'write',
    effect: 'read',
    async run({ runId }) {
      appendFileSync(ledger, `begin ${runId}\n`)
      // long enough for the other worker to find the run in progress
      while (readFileSync(ledger, 'utf8').split('started').length < 3) await wait(5)
      // long enough for the other worker to begin another run, if it could
      await wait(30)
      appendFileSync(ledger, `end ${runId}\n`)
      return runId
    },
  })
  return new Crew({ name: 'limited', tasks: [task], store, maxRuns: 1 })
}
