// A crew of one task on a scripted model that answers when it is allowed to, for benches of whole runs.
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel, type ScriptedModel } from 'reprise/testing'

export interface Gate {
  /** How many calls wait now. */
  waiting: number
  readonly open: Promise<void>
}

export function benchCrew(store: string, gate?: Gate): Crew {
  const agent = new Agent({ role: 'Clerk', goal: 'Answer', model: patientModel(gate) })
  return new Crew({
    name: 'bench',
    tasks: [new Task({ name: 'answer', description: 'Answer the letter', agent })],
    store,
  })
}

/** A script per call, since a scripted model keeps what it was asked. */
function patientModel(gate: Gate | undefined): ScriptedModel {
  const script = [{ when: 'letter', reply: 'Dear customer, your claim is covered. '.repeat(10) }]
  const model = scriptedModel(script)
  return {
    ...model,
    async doGenerate(request) {
      if (gate) {
        gate.waiting += 1
        await gate.open
        gate.waiting -= 1
      }
      return scriptedModel(script).doGenerate(request)
    },
  }
}
