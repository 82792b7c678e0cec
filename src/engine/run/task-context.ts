// What is decided and made when a task can start: whether it is skipped, the outputs that its code receives, their
// fingerprints, and which attempt it continues. Code receives only what is declared, and all of that is in a
// fingerprint.
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { NewEntry, StoredOutput, Fingerprint, EntryBodies } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { readJson, type Json } from '../../journal/json.ts'
import type { RunState, TaskState, AttemptState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { defined, describe } from '../../base/options.ts'
import { namesWords } from '../../text/words.ts'
import { parseValue } from '../../schema/answer-schema.ts'
import type { ConditionContext, TaskDefinition, CrewDefinition, Inputs, Outputs } from '../definition.ts'
import { fileReader } from '../../read/read-run.ts'
import type { Life } from '../life.ts'
import { tasksNamed, waitsFor } from './task-scheduler.ts'
import { changedFields, explainChange } from '../../journal/describe.ts'
import { digest } from '../../journal/hash.ts'
import { itemsOf } from '../../journal/state/at-path.ts'
import { isMissing } from '../../journal/state/tally.ts'
import { attemptNumber, attemptPath, rootRunId } from '../../journal/paths.ts'
import { warnOf } from '../warn-of.ts'
import { refusedAnswer, revisedAnswer } from '../model/engine-prompts.ts'

/**
 * Returns the entry that skips the task, if a task in its context failed or its condition does not hold. Rejects with
 * TASK_FAILED if the condition throws or doesn't return a boolean.
 */
export async function skipEntry(life: Life, task: TaskDefinition): Promise<NewEntry | undefined> {
  // a started task's condition has held, and is not evaluated again
  if ((life.state.tasks.get(task.name)?.attempts.length ?? 0) > 0) return undefined
  const failed = task.anyContext ? [] : failedBefore(life.state, task)
  if (failed.length > 0) {
    const reason = `${failed.length > 1 ? 'tasks' : 'task'} ${namesWords(failed)} failed`
    return { type: 'task.skipped', path: task.name, reason, failed }
  }
  if (!task.when) return undefined
  // only tasks that it waits for: whether another async task is done depends on timing
  const context = await contextBefore(life, task.name)
  const { when } = task
  const fails = (what: string, cause?: unknown): RepriseError =>
    new RepriseError('TASK_FAILED', `the condition of task ${task.name} ${what}`, { task: task.name, cause })
  let holds: unknown
  try {
    holds = await when(context)
  } catch (error) {
    throw fails(`threw: ${redact(messageOf(error))}`, error)
  }
  if (typeof holds !== 'boolean') throw fails(`returned ${describe(holds)}; it must return true or false`)
  if (holds) return undefined
  const condition = conditionFingerprint(life.crew, task, life.state)
  return { type: 'task.skipped', path: task.name, reason: 'its condition does not hold', ...condition }
}

/** Returns the failed tasks because of which outputs in the task's context are missing. */
function failedBefore({ tasks }: RunState, { context }: TaskDefinition): string[] {
  const failed = context.flatMap((name) => {
    const task = tasks.get(name)
    return task?.final ? [name] : (task?.failed ?? [])
  })
  return [...new Set(failed)]
}

/** Returns what a function task or nested crew receives: the inputs and the outputs in its context. */
export function contextFor(life: Life, task: TaskDefinition): Promise<ConditionContext> {
  return buildContext(life, tasksNamed(life.crew, task.context))
}

/** Returns what a condition or `forEach` receives: the inputs and the outputs of the tasks that the task waits for. */
export function contextBefore(life: Life, task: string): Promise<ConditionContext> {
  return buildContext(life, waitsFor(life.crew, tasksNamed(life.crew, [task])[0] as TaskDefinition))
}

async function buildContext({ state, engine }: Life, earlier: readonly TaskDefinition[]): Promise<ConditionContext> {
  const known = await Promise.all(
    earlier.map(async (other) => {
      const stored = state.tasks.get(other.name)?.output
      return [other.name, stored && (await parsedOutput(stored, other))] as const
    }),
  )
  const outputs = Object.fromEntries(known.filter(([, output]) => output !== undefined))
  const readFile = fileReader(engine.store, state)
  const missing = missingOutputs(
    earlier.map(({ name }) => name),
    runOutputs(state),
  )
  return { inputs: plainInputs(state.inputs), outputs, previous: known.at(-1)?.[1], missing, readFile }
}

/**
 * Returns an output as its task's schema parses it; undefined if it no longer fits that schema. New and recorded
 * outputs are parsed alike.
 */
export async function parsedOutput(
  output: Pick<StoredOutput, 'raw' | 'structured' | 'within'>,
  task: (Pick<TaskDefinition, 'schema'> & Partial<Pick<TaskDefinition, 'code' | 'child'>>) | undefined,
): Promise<unknown> {
  const { raw } = output
  if (isPlainText(output, task)) return raw
  const json = readJson(raw)
  const schema = task && outputMaker(task, output).schema
  if (!schema || json === undefined) return json
  const parsed = await parseValue(schema, json)
  return parsed.ok ? parsed.value : undefined
}

// What a task's condition depended on when it was evaluated. It is not part of the task's fingerprint, since the
// decision to execute a task doesn't change its output. If it changes, the decision is stale until the condition is
// evaluated again.

/**
 * Returns the field `condition` for the entry that starts, skips or inherits a task with a condition: digests of all
 * inputs, and of the outputs of the tasks that the task waits for.
 */
export function conditionFingerprint(
  crew: CrewDefinition,
  task: TaskDefinition,
  state: RunState,
): { readonly condition?: Fingerprint } {
  return task.when ? { condition: conditionFields(crew, task, state.inputs, runOutputs(state)) } : {}
}

export interface FieldChanges {
  readonly fields: readonly string[]
  /** In words, one item per field. */
  readonly reasons: readonly string[]
}

export const noChange: FieldChanges = { fields: [], reasons: [] }

/** Returns what has changed of everything that the condition depended on. A person's value has no condition. */
export function conditionChange(
  crew: CrewDefinition,
  task: TaskDefinition,
  known: TaskState | undefined,
  inputs: Inputs,
  outputs: Outputs,
): FieldChanges {
  // `failed`: the task was skipped without evaluating its condition, because another task failed
  if (!task.when || known?.failed || !(known?.status === 'skipped' || known?.output?.fingerprint)) return noChange
  if (!known.condition) return { fields: ['condition'], reasons: ['condition added'] }
  const now = conditionFields(crew, task, inputs, outputs)
  return {
    fields: changedFields(known.condition, now).map((field) => `condition ${field}`),
    reasons: explainChange(known.condition, now).map((reason) => `condition ${reason}`),
  }
}

function conditionFields(crew: CrewDefinition, task: TaskDefinition, inputs: Inputs, outputs: Outputs): Fingerprint {
  const inputFields = Object.entries(inputs).map(([name, value]) => [`input:${name}`, value] as const)
  const fields = [...inputFields, ...contextFields(waitsFor(crew, task), outputs)]
  return Object.fromEntries(fields.map(([field, value]) => [field, digest(value)]))
}

// What code receives from other tasks, as fields of a fingerprint: their outputs, and the schemas that parse them. A
// model receives only texts. A function receives parsed values, so an equal text under another schema is a different
// value.

/** Returns a live view of the outputs of all tasks of a run. */
export function runOutputs(state: Pick<RunState, 'tasks'>): Required<Outputs> {
  return {
    get: (name) => state.tasks.get(name)?.output,
    lacks(name) {
      const task = state.tasks.get(name)
      return task !== undefined && isMissing(task)
    },
    lackedItems(name) {
      const task = state.tasks.get(name)
      return task?.items ? itemsOf(state, task).flatMap((item) => (isMissing(item) ? [item.name] : [])) : []
    },
  }
}

/** Returns which of these tasks, and of their items, have no output because of a failure. */
export function missingOutputs(names: readonly string[], outputs: Outputs): string[] {
  return names.flatMap((name) => (outputs.lacks?.(name) ? [name] : (outputs.lackedItems?.(name) ?? [])))
}

/** Returns the fields for the outputs of `tasks`, which are in the crew's order. */
export function contextFields(tasks: readonly TaskDefinition[], outputs: Outputs): [field: string, value: Json][] {
  const outputFields = tasks.flatMap((task): [string, Json][] => {
    const output = outputs.get(task.name)
    if (!output) return []
    const value: Json = isPlainText(output, task) ? output.raw : { json: output.raw }
    const { reading } = outputMaker(task, output)
    return [
      [`context:${task.name}`, value],
      ...(reading === undefined ? [] : [[`output schema:${task.name}`, reading] satisfies [string, Json]]),
    ]
  })
  const names = tasks.map(({ name }) => name)
  const missing = missingOutputs(names, outputs)
  return [
    ['context', names],
    ...outputFields,
    ...(missing.length > 0 ? [['missing context', missing] satisfies [string, Json]] : []),
  ]
}

/**
 * Returns the task that produced an output: for a nested crew whose last task was skipped, an earlier one of its
 * tasks.
 */
export function outputMaker(task: Maker, { within }: Pick<StoredOutput, 'within'>): Pick<TaskDefinition, ReadingField> {
  if (!task.child || within === undefined) return task
  const [name, ...rest] = within.split('/')
  const made = task.child.crew.tasks.find((one) => one.name === name || (name !== undefined && one.was.includes(name)))
  // today's crew no longer has that task: its output is read as plain JSON
  if (!made) return { schema: undefined }
  return outputMaker(made, rest.length > 0 ? { within: rest.join('/') } : {})
}

type ReadingField = 'schema' | 'reading'
type Maker = Pick<TaskDefinition, 'schema'> & Partial<Pick<TaskDefinition, 'reading' | 'child'>>

/** Whether an output is plain text, which is not parsed. */
function isPlainText(
  { structured }: Pick<StoredOutput, 'structured'>,
  task: (Pick<TaskDefinition, 'schema'> & Partial<Pick<TaskDefinition, 'code' | 'child'>>) | undefined,
): boolean {
  // even without a schema, a function may return something other than text
  return task && !task.code && !task.child ? !task.schema : !structured
}

// The attempt to continue, for agent tasks, function tasks and nested crews.

interface CurrentAttempt {
  /** The unfinished attempt, if it is continued. */
  readonly kept: AttemptState | undefined
  /** For the entry of a new attempt: what has changed since the last attempt, and what the condition depended on. */
  readonly because: Pick<EntryBodies['task.started'], 'because' | 'condition' | 'input' | 'after'>
  readonly fingerprint: Fingerprint
  /** The path of a new attempt. */
  readonly next: string
}

/**
 * Decides which attempt to continue: the unfinished one if nothing that it depends on has changed, or if the caller
 * lets it continue anyway; otherwise a new one. Throws DEFINITION_CHANGED if something changed and the caller refuses
 * changes.
 */
export function currentAttempt({ state, crew, options }: Life, task: TaskDefinition): CurrentAttempt {
  const { changed = 'continue' } = options
  const fingerprint = task.fingerprint(state.inputs, runOutputs(state))
  const known = state.tasks.get(task.name)?.attempts ?? []
  const last = state.attempts.get(known.at(-1) ?? '')
  const unfinished = last?.status === 'open' || last?.status === 'refused' ? last : undefined
  const reasons = unfinished ? explainChange(unfinished.fingerprint, fingerprint) : []
  const words = `has changed since it was started: ${reasons.join('; ')}`
  const restart = { type: 'resume', runId: rootRunId(state.run), changed: 'restart' } as const
  if (reasons.length > 0 && changed === 'refuse')
    throw new RepriseError('DEFINITION_CHANGED', `it ${words}`, { runId: state.run, task: task.name, next: restart })
  const keeps = reasons.length === 0 || (changed === 'continue' && unfinished !== undefined && hasSteps(unfinished))
  if (reasons.length > 0) {
    const facts = `run ${state.run}: task ${task.name} ${words}`
    if (keeps) warnOf(crew, { facts: `${facts}; it continues as it was started`, next: restart })
    else crew.logger.warn(`${facts}; it starts again`)
  }
  return {
    kept: keeps ? unfinished : undefined,
    because: {
      ...(keeps ? {} : { because: reasons }),
      ...defined({ ...task.started }),
      ...(known.length === 0 ? conditionFingerprint(crew, task, state) : {}),
    },
    fingerprint,
    next: nextAttempt(state, task.name),
  }
}

/** Whether an attempt has recorded work: a reply, a call of the function, a child run. */
export function hasSteps({ child, carries, pinned, turns }: AttemptState): boolean {
  if (child !== undefined || carries !== undefined) return true
  return pinned ? turns.length > 0 : turns[0]?.calls[0]?.calledAt !== undefined
}

/** Returns the path of the next attempt. Skips paths in use, for example by attempts of a renamed task. */
export function nextAttempt({ attempts, tasks }: RunState, task: string): string {
  let number = Math.max(0, ...(tasks.get(task)?.attempts ?? []).map(attemptNumber)) + 1
  while (attempts.has(attemptPath(task, number))) number += 1
  return attemptPath(task, number)
}

/** Returns the message to the model with which the next attempt continues this refused attempt. */
export function revisionMessage({ refusal = '', refusedBy }: AttemptState): string {
  return refusedBy === 'person' ? revisedAnswer(refusal) : refusedAnswer(refusal)
}

/** Counts the attempts in this conversation that were refused before this one, except by a person. */
export function countRefusals(state: RunState, attempt: AttemptState): number {
  const carried = attempt.carries && state.attempts.get(attempt.carries.path)
  if (carried?.task !== attempt.task) return 0
  return (carried.refusedBy === 'person' ? 0 : 1) + countRefusals(state, carried)
}

export function triesWord(count: number): string {
  return count === 1 ? 'one try' : `${count} tries`
}
