// A process that gives a run 100 ms on each command: nine tasks of three model calls each, counted in a file.
import { appendFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, Crew, Task, tool } from 'reprise'
import { z } from 'zod'
import { openCrew } from '../../../src/crew/open-crew.ts'
import { queueRun } from '../../../src/engine/run/create-run.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'

/** Model calls alone take seven slices. */
const callMs = 25

const [url = '', ledger = ''] = process.argv.slice(2)
const script = scriptedModel([
  { when: 'Task:', after: 0, calls: [{ tool: 'lookup', input: { at: 0 } }] },
  { when: 'Task:', after: 1, calls: [{ tool: 'lookup', input: { at: 1 } }] },
  { when: 'Task:', reply: 'done' },
])
const model: typeof script = {
  ...script,
  async doGenerate(request) {
    appendFileSync(ledger, 'call\n')
    await wait(callMs)
    return script.doGenerate(request)
  },
}
const lookup = tool({
  name: 'lookup',
  description: 'Look up',
  input: z.object({ at: z.number() }),
  effect: 'read',
  run: () => 'found',
})
const agent = new Agent({ role: 'A', goal: 'g', model, tools: [lookup] })
const tasks = Array.from({ length: 9 }, (_, at) => new Task({ name: `t${at}`, description: `T${at}`, agent }))
const crew = new Crew({ name: 'sliced', tasks, store: url })
const open = openCrew(crew['~definition']({}), { store: url, name: crew.name })
// the first process queues the run
await queueRun(await open.engine(), open.definition, { run: 'r', inputs: {} })
await open.close()
process.on('message', () => {
  void crew.advance('r', { until: Date.now() + 100 }).then((outcome) => process.send?.(outcome))
})
process.send?.('ready')
