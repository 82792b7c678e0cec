// Stored outputs that tasks inherit instead of being executed, and what makes an output stale. The search takes place
// when the task's turn comes and its context is known: first the output that the parent run offered, then, with
// `reuse`, the outputs of all runs of the crew.
import { defined } from '../../base/options.ts'
import { isHandEdited, withNewNames } from '../../journal/state/change-tasks.ts'
import type { Conversation, NewEntry, OutputPlace, StoredOutput } from '../../journal/entries.ts'
import { digest } from '../../journal/hash.ts'
import type { RunState, TaskState } from '../../journal/state/state.ts'
import {
  conditionFingerprint,
  conditionChange,
  noChange,
  type FieldChanges,
  runOutputs,
  outputMaker,
} from '../run/task-context.ts'
import { tasksWithItems } from '../run/for-each.ts'
import type { CrewDefinition, Engine, Inputs, Outputs, TaskDefinition } from '../definition.ts'
import type { Life } from '../life.ts'
import { conversationFor } from '../../read/conversation.ts'
import { outputPlace } from '../../read/incarnation.ts'
import { readRun } from '../../read/read-run.ts'
import type { Store } from '../../stores/store.ts'
import { changedFields, explainChange } from '../../journal/describe.ts'
import { readJson } from '../../journal/json.ts'
import { parseValue } from '../../schema/answer-schema.ts'

/** Returns the entry with which the task inherits an output, if there is one. A started task continues instead. */
export async function inheritanceEntry(
  { engine, state, crew }: Life,
  task: TaskDefinition,
): Promise<(NewEntry & { readonly type: 'task.inherited' }) | undefined> {
  const found = await findStoredOutput(engine, crew, task, state, runOutputs(state))
  if (!found) return undefined
  const { from, output, conversation, offered, reasons } = found
  const stored = { output, ...defined({ conversation }) }
  const condition = conditionFingerprint(crew, task, state)
  return { type: 'task.inherited', path: task.name, from, reasons, ...condition, ...(offered ? {} : stored) }
}

interface ReusableOutput {
  readonly from: OutputPlace
  readonly output: StoredOutput
  readonly conversation?: Conversation | undefined
  /** It was offered when the run was forked. */
  readonly offered: boolean
  readonly reasons: string[]
}

/** Finds an output that the task can inherit. `outputs`: the outputs known so far. */
export async function findStoredOutput(
  engine: Engine,
  crew: CrewDefinition,
  task: TaskDefinition,
  state: RunState,
  outputs: Outputs,
): Promise<ReusableOutput | undefined> {
  const known = state.tasks.get(task.name)
  // a list is made of its items, which may inherit outputs
  if (task.forEach || known?.again || (known && known.attempts.length > 0)) return undefined
  const offer = known?.offered
  if (!offer && !state.reuse) return undefined
  const given = { inputs: state.inputs, outputs }
  if (offer?.output.fingerprint && (await isStillValid(task, offer.output, given))) {
    return { ...offer, offered: true, reasons: ['everything it depends on came out equal'] }
  }
  // without a declared input, the result of a flow's step may depend on every step before it
  if (state.flow && task.started?.input === undefined && !task.child) return undefined
  const found = state.reuse && (await findReusable(engine, crew.name, task, given, state.reuse, state.outputs))
  if (!found) return undefined
  return {
    ...found,
    offered: false,
    reasons: [`it was made at ${found.output.completedAt} from the same inputs, texts and code`],
  }
}

interface TaskInputs {
  readonly inputs: Inputs
  readonly outputs: Outputs
}

/** Finds the task's newest output, in any run of the crew, with an equal fingerprint and within the allowed age. */
export async function findReusable(
  { store }: { readonly store: Store },
  crew: string,
  task: TaskDefinition,
  given: TaskInputs,
  { maxAgeSeconds }: { readonly maxAgeSeconds?: number },
  /** The outputs of the run that would inherit it. */
  outputs: RunState['outputs'] = new Map(),
): Promise<Pick<ReusableOutput, 'from' | 'output' | 'conversation'> | undefined> {
  const since = maxAgeSeconds === undefined ? undefined : (await store.now()) - maxAgeSeconds * 1000
  const key = digest(task.fingerprint(given.inputs, given.outputs))
  const found = await store.findOutput(crew, task.name, key, since)
  if (!found) return undefined
  // the run may have been deleted meanwhile, or changed by hand since its output was indexed
  const read = await readRun(store, found.run).catch(() => undefined)
  const stored = read?.state.tasks.get(task.name)
  if (!read || isHandEdited(read.state) || read.state.handEdited || stored?.seq !== found.seq) return undefined
  const { output } = stored
  if (!output?.fingerprint || digest(output.fingerprint) !== key) return undefined
  if (!(await isStillValid(task, output, given))) return undefined
  const seqByText = new Map([...outputs].map(([seq, text]) => [text, seq]))
  const conversation = conversationFor(read.state, stored, seqByText)
  return { from: outputPlace(read.state, stored), output, conversation }
}

async function isStillValid(task: TaskDefinition, output: StoredOutput, given: TaskInputs): Promise<boolean> {
  const { fields } = outputChange(output, task, given.inputs, given.outputs)
  return fields.length === 0 && (await schemaMismatch(task, output)) === undefined
}

// Stale outputs: the code, the inputs or the outputs of earlier tasks have changed since they were made.

export interface StaleTask {
  readonly task: string
  /** In words: "input topic changed". */
  readonly reasons: readonly string[]
  /** The fingerprint fields that changed: "input:topic". */
  readonly fields: readonly string[]
}

/** Returns the tasks of a run whose outputs or skips are stale. */
export function staleTasks(crew: CrewDefinition, recorded: RunState): StaleTask[] {
  const state = withNewNames(recorded, crew.tasks)
  const outputs = runOutputs(state)
  return tasksWithItems(crew, state).flatMap((task) => {
    const known = state.tasks.get(task.name)
    if (!known && state.status === 'completed')
      return [{ task: task.name, reasons: ['the run is older than the task'], fields: [] }]
    const change = taskChange(crew, task, known, state.inputs, outputs)
    return change.fields.length > 0 ? [{ task: task.name, ...change }] : []
  })
}

/** Returns what has changed since a task's output was made, and since its condition was evaluated. */
export function taskChange(
  crew: CrewDefinition,
  task: TaskDefinition,
  known: TaskState | undefined,
  inputs: Inputs,
  outputs: Outputs,
): FieldChanges {
  const made = known?.output ? outputChange(known.output, task, inputs, outputs) : noChange
  const decided = conditionChange(crew, task, known, inputs, outputs)
  return { fields: [...made.fields, ...decided.fields], reasons: [...made.reasons, ...decided.reasons] }
}

/** Returns what has changed since an output was made. A person's value has no fingerprint and is never stale. */
export function outputChange(
  { fingerprint, limited = {} }: Pick<StoredOutput, 'fingerprint' | 'limited'>,
  task: TaskDefinition,
  inputs: Inputs,
  outputs: Outputs,
): FieldChanges {
  if (!fingerprint) return noChange
  const now = task.fingerprint(inputs, outputs)
  const turns = task.turns(inputs)
  const limits = Object.entries(limited).filter(([agent, had]) => turns.has(agent) && turns.get(agent) !== had)
  return {
    fields: [...changedFields(fingerprint, now), ...limits.map(([agent]) => `maxIterations:${agent}`)],
    reasons: [...explainChange(fingerprint, now), ...limits.map(([agent]) => `maxIterations ${agent} changed`)],
  }
}

/** Returns why today's schema refuses an output, if it does. Such an output must not be inherited. */
export async function schemaMismatch(task: TaskDefinition, output: StoredOutput): Promise<string | undefined> {
  const { schema } = outputMaker(task, output)
  if (!schema) return undefined
  const value = readJson(output.raw)
  if (value === undefined) return "its stored output isn't JSON, but the task has a schema now"
  const parsed = await parseValue(schema, value)
  return parsed.ok ? undefined : `its stored output no longer fits its schema: ${parsed.reason}`
}
