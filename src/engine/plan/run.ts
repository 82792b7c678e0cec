// The plans of a run that is begun or gone on with: what is there stays, the rest is executed.
import type { PlannedTask } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import type { AttemptState, RunState } from '../../journal/state.ts'
import type { ChangedPolicy, CrewDefinition, Engine, Inputs, TaskDefinition } from '../definition.ts'
import { outputsFor } from '../execute-task.ts'
import { findReusable } from './inherit.ts'
import { changeOf } from './stale.ts'

/** Every task is executed, but for those of which an output can be reused. */
export async function planKickoff(
  engine: Engine,
  crew: CrewDefinition,
  inputs: Inputs,
  reuse: RunState['reuse'],
): Promise<PlannedTask[]> {
  const outputs = new Map<string, string>()
  const plan: PlannedTask[] = []
  for (const task of crew.tasks) {
    const open = task.context.filter((name) => !outputs.has(name))
    const seen = new Map(task.context.flatMap((name) => (outputs.has(name) ? [[name, outputs.get(name) ?? '']] : [])))
    const found =
      reuse && open.length === 0
        ? await findReusable(engine, crew.name, task, digest(task.fingerprint(inputs, seen)), reuse)
        : undefined
    if (found) {
      outputs.set(task.name, found.output.raw)
      const reason = `run ${found.from.run} made it from the same at ${found.output.completedAt}`
      plan.push({ task: task.name, action: 'inherit', reasons: [reason] })
    } else {
      const reasons = !reuse
        ? ['the run is new']
        : open.length > 0
          ? [`whether there is an output to reuse shows when ${open.join(', ')} is done`]
          : ['no run has an output that was made from the same']
      plan.push({ task: task.name, action: 'execute', reasons, ...(reuse && open.length > 0 ? { unless: open } : {}) })
    }
  }
  return plan
}

/** What a resume does with each task of its run. */
export function planResume(crew: CrewDefinition, state: RunState, changed: ChangedPolicy = 'restart'): PlannedTask[] {
  return crew.tasks.map((task): PlannedTask => {
    const known = state.tasks.get(task.name)
    if (known?.status === 'skipped') return { task: task.name, action: 'inherit', reasons: ['this run skipped it'] }
    if (known?.status === 'completed' && known.output) {
      const { fields, reasons } = changeOf(known.output, task, state.inputs, outputsFor(state, task))
      const stale = fields.length > 0 ? { fields } : {}
      return {
        task: task.name,
        action: 'inherit',
        reasons: ['this run has it', ...reasons.map((reason) => `stale: ${reason}`)],
        ...stale,
      }
    }
    const attempt = state.attempts.get(known?.attempts.at(-1) ?? '')
    const goesOn = attempt?.status === 'open' || attempt?.status === 'refused'
    if (goesOn) return { task: task.name, action: 'execute', ...goingOn(task, state, attempt, changed) }
    const offer = known?.offered ? { unless: task.context.filter((name) => isOpen(state, name)) } : {}
    const why = known?.error ? `it failed: ${known.error.message}` : 'this run has not come to it'
    return { task: task.name, action: 'execute', reasons: [why], ...offer }
  })
}

function goingOn(
  task: TaskDefinition,
  state: RunState,
  attempt: AttemptState,
  changed: ChangedPolicy,
): Pick<PlannedTask, 'reasons' | 'fields'> {
  const { fields, reasons } = changeOf(attempt, task, state.inputs, outputsFor(state, task))
  const steps = attempt.turns.length + attempt.turns.flatMap((turn) => turn.calls.filter((call) => call.outcome)).length
  const recorded = `it goes on as it was begun, with ${steps === 0 ? 'no step' : steps === 1 ? 'one step' : `${steps} steps`} recorded`
  if (fields.length === 0) return { reasons: [recorded] }
  const what = { restart: 'it starts anew', continue: recorded, refuse: 'the resume is refused' }[changed]
  return { reasons: [what, ...reasons], fields }
}

function isOpen(state: RunState, name: string): boolean {
  const status = state.tasks.get(name)?.status
  return status !== 'completed' && status !== 'skipped'
}
