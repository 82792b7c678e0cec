// Parts of the crews of the crash tests. All user code leaves a line in a file when it runs.
import { Agent, Task, tool, type TaskOptions } from 'reprise'
import { z } from 'zod'
import { leaveTrace } from './effects.ts'

export const measure = tool({
  name: 'measure',
  description: 'Measure it',
  effect: 'read',
  input: z.object({}),
  run(_, { runId: run, task }) {
    leaveTrace(run, `measure of ${task}`)
    return 'seven'
  },
})

export const worker = new Agent({ role: 'Worker', goal: 'Do the job', maxRetries: 0 })

/** A task whose description says what the model does, and names the run. */
export function taskOf(name: string, does: string, options: Partial<TaskOptions> = {}): Task {
  return new Task({ name, description: `${does} as ${name} for {notes}`, agent: worker, ...options })
}

/** A function task. */
export function functionOf(name: string, result: string, effect: 'read' | 'once'): Task {
  return new Task({
    name,
    effect,
    run({ runId: run }) {
      leaveTrace(run, `${name} of ${name}`)
      return result
    },
  })
}

export function runIn(inputs: { readonly [name: string]: unknown }): string {
  return /run:(.*);/.exec(inputs['notes'] as string)?.[1] ?? ''
}
