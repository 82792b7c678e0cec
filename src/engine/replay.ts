// A new run made from an old one: what stands before a task is inherited with its output, the task and all behind it are
// executed. The old run is only read. The plan says for each task what happens to it and why.
import { explainChange } from '../journal/fingerprint.ts'
import type { NewEntry, PlannedTask } from '../journal/entries.ts'
import type { RunState } from '../journal/state.ts'
import type { CrewDefinition, Inputs, TaskDefinition } from './definition.ts'
import { outputsFor } from './execute-task.ts'
import type { Lineage } from './lifecycle.ts'
import { callsFor, toOnceCall } from './once.ts'

/** The stored outputs that today's code, inputs and earlier outputs would not have been made from. */
export function staleTasks(crew: CrewDefinition, state: RunState): Stale[] {
  return crew.tasks.flatMap((task) => {
    const known = state.tasks.get(task.name)
    if (!known && state.status === 'completed')
      return [{ task: task.name, reasons: ['the run is older than the task'] }]
    const stored = known?.output?.fingerprint
    const reasons = stored ? explainChange(stored, task.fingerprint(state.inputs, outputsFor(state, task))) : []
    return reasons.length > 0 ? [{ task: task.name, reasons }] : []
  })
}

/** What a new run does with the `once` calls of its parent: use their results, make them anew, or ask a person. */
export type EffectsPolicy = 'reuse' | 'again' | 'ask'

export interface Stale {
  readonly task: string
  /** In words: "input topic changed". */
  readonly reasons: readonly string[]
}

export function planReplay(
  crew: CrewDefinition,
  parent: RunState,
  from: TaskDefinition,
  inputs: Inputs,
  effects: EffectsPolicy = 'reuse',
): Lineage {
  const first = crew.tasks.indexOf(from)
  const plan: PlannedTask[] = []
  const inherited: NewEntry[] = []
  const outputs = new Map<string, string>()
  for (const [index, task] of crew.tasks.entries()) {
    const stored = parent.tasks.get(task.name)
    if (index >= first) {
      plan.push({
        task: task.name,
        action: 'execute',
        reasons: [index === first ? 'the replay starts here' : `it stands behind ${from.name}`],
      })
      continue
    }
    if (!stored?.output) {
      plan.push({ task: task.name, action: 'execute', reasons: [`run ${parent.run} has no output of it`] })
      continue
    }
    const seen = new Map(
      task.context.flatMap((name) => (outputs.has(name) ? [[name, outputs.get(name) as string]] : [])),
    )
    const reasons = stored.output.fingerprint
      ? explainChange(stored.output.fingerprint, task.fingerprint(inputs, seen))
      : []
    outputs.set(task.name, stored.output.raw)
    plan.push({ task: task.name, action: 'inherit', reasons: [`from run ${parent.run}`, ...reasons] })
    inherited.push({
      type: 'task.inherited',
      path: task.name,
      from: stored.from ?? { run: parent.run, seq: stored.seq ?? 0 },
      output: stored.output,
      ...(reasons.length > 0 ? { stale: reasons } : {}),
    })
  }
  return { created: created(parent, from, plan, effects), inherited }
}

function created(
  parent: RunState,
  from: TaskDefinition,
  plan: readonly PlannedTask[],
  effects: EffectsPolicy,
): Lineage['created'] {
  const executed = new Set(plan.filter((item) => item.action === 'execute').map((item) => item.task))
  const calls = callsFor(parent)
    .filter((call) => effects !== 'again' || !executed.has(call.task))
    .map(toOnceCall)
  return {
    parent: { run: parent.run, from: from.name },
    plan,
    ...(calls.length > 0 ? { calls } : {}),
    ...(effects === 'ask' ? { effects } : {}),
  }
}
