// Plans a kickoff or a resume: tasks with an output are kept, other tasks are executed.
import type { PlannedTask, StoredOutput } from '../../journal/entries.ts'
import { itemsOf, taskNameAt } from '../../journal/state/at-path.ts'
import { isHandEdited, tasksToRedo } from '../../journal/state/change-tasks.ts'
import { isDone } from '../../journal/state/tally.ts'
import type { AttemptState, RunState, TaskState } from '../../journal/state/state.ts'
import type { ChangedPolicy, CrewDefinition, Engine, Inputs, Outputs, TaskDefinition } from '../definition.ts'
import { namesWords, plural } from '../../text/words.ts'
import { isListTask, tasksWithItems } from '../run/for-each.ts'
import { runOutputs, hasSteps } from '../run/task-context.ts'
import { openTreeQuestions, childReader, type ReadChild } from '../task/children.ts'
import { findReusable, findStoredOutput, outputChange, taskChange } from './inheritance.ts'

/** Plans a kickoff: all tasks are executed, except those whose output can be reused. */
export async function planKickoff(
  engine: Engine,
  crew: CrewDefinition,
  inputs: Inputs,
  reuse: RunState['reuse'],
): Promise<PlannedTask[]> {
  const outputs = new Map<string, StoredOutput>()
  const plan: PlannedTask[] = []
  for (const task of crew.tasks) {
    const open = task.context.filter((name) => !outputs.has(name))
    if (task.when) {
      const reasons = ["its condition is evaluated when the task's turn comes"]
      plan.push({ task: task.name, action: 'execute', reasons, ...(reuse ? { unless: open } : {}) })
      continue
    }
    const found =
      reuse && !task.forEach && open.length === 0
        ? await findReusable(engine, crew.name, task, { inputs, outputs }, reuse)
        : undefined
    if (found) {
      outputs.set(task.name, found.output)
      const reason = `run ${found.from.run} made it from the same inputs, texts and code at ${found.output.completedAt}`
      plan.push({ task: task.name, action: 'inherit', reasons: [reason] })
    } else {
      const reasons = !reuse
        ? ['the run is new']
        : open.length > 0
          ? [`whether an output can be reused is known when ${open.join(', ')} is done`]
          : task.forEach
            ? ['whether items can reuse outputs is known once the list is']
            : ['no run has an output that was made from the same inputs, texts and code']
      plan.push({ task: task.name, action: 'execute', reasons, ...(reuse && open.length > 0 ? { unless: open } : {}) })
    }
  }
  return plan
}

export async function planResume(
  engine: Engine,
  crew: CrewDefinition,
  state: RunState,
  changed: ChangedPolicy = 'continue',
  readChild: ReadChild = childReader(engine.store),
): Promise<PlannedTask[]> {
  const byHand = new Set(isHandEdited(state) ? tasksToRedo(state).map((task) => task.name) : [])
  const asked = Map.groupBy(await openTreeQuestions(state, readChild), ({ path }) => taskNameAt(state, path))
  const { lacks, lackedItems } = runOutputs(state)
  const outputs = Object.assign(new Map<string, StoredOutput>(), { lacks, lackedItems })
  const open = new Set<string>()
  const plan: PlannedTask[] = []
  for (const task of tasksWithItems(crew, state)) {
    const known = state.tasks.get(task.name)
    const upstream = task.context.filter((name) => open.has(name))
    const keep = (output: StoredOutput, reasons: readonly string[], fields: readonly string[] = []): void => {
      outputs.set(task.name, output)
      plan.push({ task: task.name, action: 'inherit', reasons, ...(fields.length > 0 ? { fields } : {}) })
    }
    const execute = (more: Pick<PlannedTask, 'reasons' | 'fields' | 'unless'>): void => {
      open.add(task.name)
      plan.push({ task: task.name, action: 'execute', ...more })
    }
    if (known?.status === 'skipped') {
      const why = known.failed ? `, since ${namesWords(known.failed)} failed` : ''
      plan.push({ task: task.name, action: 'inherit', reasons: [`this run skipped it${why}`] })
    } else if (known?.final) {
      const reasons = [`this run continues without it, since it failed: ${known.error?.message}`]
      plan.push({ task: task.name, action: 'inherit', reasons })
    } else if (known?.status === 'completed' && known.output) {
      const { fields, reasons } = taskChange(crew, task, known, state.inputs, outputs)
      keep(known.output, ['already completed', ...reasons.map((reason) => `stale: ${reason}`)], fields)
    } else if (byHand.has(task.name)) {
      execute({ reasons: ['entries of the journal are missing or changed'] })
    } else if (known && isListTask(task) && isInProgress(state, known)) {
      const items = itemsOf(state, known)
      const done = `${items.filter(isDone).length} of ${plural(items.length, 'item')} are done`
      const { fields, reasons } = outputChange(lastAttempt(state, known) as AttemptState, task, state.inputs, outputs)
      execute({ reasons: [done, ...reasons], ...(fields.length > 0 ? { fields } : {}) })
    } else if (isInProgress(state, known)) {
      const { reasons, ...more } = planContinuation(
        task,
        state,
        lastAttempt(state, known) as AttemptState,
        changed,
        outputs,
      )
      const ids = asked.get(task.name)?.map(({ id }) => id) ?? []
      execute({
        reasons: [...(ids.length > 0 ? [`it waits for the answer to ${ids.join(', ')}`] : []), ...reasons],
        ...more,
      })
    } else {
      const canInherit = known?.offered || state.reuse || task.when
      const why = known?.error ? `it failed: ${known.error.message}` : 'not reached yet'
      const found =
        upstream.length > 0 || task.when ? undefined : await findStoredOutput(engine, crew, task, state, outputs)
      if (found) keep(found.output, found.reasons)
      else
        execute({ reasons: [why], ...(canInherit && (upstream.length > 0 || task.when) ? { unless: upstream } : {}) })
    }
  }
  return plan
}

function lastAttempt(state: RunState, task: TaskState | undefined): AttemptState | undefined {
  return state.attempts.get(task?.attempts.at(-1) ?? '')
}

function isInProgress(state: RunState, task: TaskState | undefined): boolean {
  const status = lastAttempt(state, task)?.status
  return status === 'open' || status === 'refused'
}

function planContinuation(
  task: TaskDefinition,
  state: RunState,
  attempt: AttemptState,
  changed: ChangedPolicy,
  outputs: Outputs,
): Pick<PlannedTask, 'reasons' | 'fields'> {
  const { fields, reasons } = outputChange(attempt, task, state.inputs, outputs)
  const steps = attempt.turns.length + attempt.turns.flatMap((turn) => turn.calls.filter((call) => call.outcome)).length
  const recorded =
    attempt.child === undefined
      ? `it continues${steps === 0 ? ', with no step recorded yet' : ` after ${plural(steps, 'recorded step')}`}`
      : `it continues its child run ${attempt.child}`
  if (fields.length === 0) return { reasons: [recorded] }
  const policy = changed === 'continue' && !hasSteps(attempt) ? 'restart' : changed
  const consequence = {
    restart: 'it starts again',
    continue: `${recorded}, as it was started, unless you resume with changed: 'restart'`,
    refuse: 'the resume is refused',
  }[policy]
  return { reasons: [consequence, ...reasons], fields }
}
