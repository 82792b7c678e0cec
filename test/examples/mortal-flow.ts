// Runs the flow of an example in the working folder:
//
//   mortal-flow.ts write-a-book '{"inputs":{"topic":"rye"},"killAt":"before:7","once":"save"}'
//
// With `killAt`, the process is killed right before or after this entry of its life is written. With `once`, it is killed
// when a step of this name has done its work, right before that is recorded; in one life only.
import { existsSync, writeFileSync } from 'node:fs'
import { Flow, type OnQuestion } from 'reprise'
import { openStore, type Store } from 'reprise/stores'
import { defined } from '../../src/base/options.ts'
import { killingAt } from '../crash/killing.ts'
import type { Entry } from '../../src/journal/entries.ts'

interface Example {
  readonly inputs?: object
  readonly onQuestion?: OnQuestion
}

interface Settings {
  readonly inputs?: object
  readonly killAt?: string
  readonly once?: string
}

const [example = '', settings = '{}'] = process.argv.slice(2)
const { killAt = '', once, ...chosen } = JSON.parse(settings) as Settings
const { inputs, onQuestion, ...others } = (await import(`../../examples/flows/${example}.ts`)) as Example
const flow = Object.values(others).find((one) => one instanceof Flow) as Flow

const die = (): never => {
  process.kill(process.pid, 'SIGKILL')
  // the signal arrives before this returns
  throw new Error('killed')
}

/** Kills the process when the step is about to be recorded as completed, unless an earlier process was killed there. */
function killedAfterWork(inner: Store, step: string): Store {
  const isStep = ({ type, path = '' }: Entry): boolean =>
    type === 'task.completed' && /^[^[#]+/.exec(path)?.[0] === step
  return {
    ...inner,
    append(lease, after, batch) {
      const entries = batch.lines.map(({ bytes }) => JSON.parse(Buffer.from(bytes).toString()) as Entry)
      if (entries.some(isStep) && !existsSync('killed-after-work')) {
        writeFileSync('killed-after-work', '')
        die()
      }
      return inner.append(lease, after, batch)
    },
  }
}

const opened = await openStore('sqlite:runs.db')
const { store, recorded } = killingAt(opened, killAt, die)
await using mortal = flow.with({ store: once === undefined ? store : killedAfterWork(store, once) })
const given = { id: 'r', ...defined({ inputs, onQuestion, ...chosen }) }
const result = await mortal.kickoff(given as never)
console.log(JSON.stringify({ result: result.output, status: result.status, entries: recorded() }))
