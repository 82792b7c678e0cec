// Compares one task in two runs.
import { defined } from '../../base/options.ts'
import type { Failure, Fingerprint, Usage } from '../../journal/entries.ts'
import { changedFields, explainChange } from '../../journal/describe.ts'
import { readJson } from '../../journal/json.ts'
import { type RunState, type TaskState, type TaskStatus } from '../../journal/state/state.ts'
import { spentOn } from '../../journal/state/spent.ts'
import { jsonChanges, type JsonChange } from './json-changes.ts'
import { outputAttempt, diffPrompts, samePrompt, type PromptDiff } from './prompt-diff.ts'
import { diffSteps, type StepsDiff } from './steps-diff.ts'
import { textDiff, type TextDiff } from './text-diff.ts'

export interface TaskDiff {
  readonly name: string
  /**
   * What differs; empty if nothing does.
   * - `presence`: only one run has the task
   * - `status`: another status, or another error
   * - `definition`: the task's texts, agent, model, tools, or other code that its fingerprint covers
   * - `prompt`: what was sent to the model; compared if both runs sent something
   * - `steps`: the tool calls, or the number of model calls; compared if both runs have steps
   * - `output`: the output's text, or whether there is an output
   *
   * Tokens, time, failed tries, given-up attempts, and whether an equal output was executed, inherited or edited don't
   * count.
   */
  readonly differences: readonly Difference[]
  /** Absent if the run doesn't have the task. Then definition, fields, prompt and steps are empty. */
  readonly a?: TaskSide
  readonly b?: TaskSide
  /** Changes of the declared texts, with their placeholders. */
  readonly definition: DefinitionDiff
  /** Changed fingerprint fields, in words: `input topic changed`. */
  readonly fields: readonly string[]
  readonly prompt: PromptDiff
  readonly steps: StepsDiff
  /** Absent if both outputs have the same text, or there is none. */
  readonly output?: OutputDiff
}

export type Difference = 'presence' | 'status' | 'definition' | 'prompt' | 'steps' | 'output'

export interface TaskSide {
  /** `failed` for the task at which the run failed, even though a resume would continue it. */
  readonly status: TaskStatus
  /** How a completed task got its output. */
  readonly source?: 'executed' | 'inherited' | 'edited'
  /** The run that made an inherited output. */
  readonly from?: string
  readonly attempts: number
  /** The usage of the execution that made the output, in whichever run. */
  readonly usage: Usage
  readonly error?: Failure
}

export interface DefinitionDiff {
  readonly description?: TextDiff
  readonly expectedOutput?: TextDiff
  readonly agent?: { readonly a?: string; readonly b?: string }
}

export interface OutputDiff {
  /** Which runs have an output. */
  readonly in: 'both' | 'a' | 'b'
  readonly text: TextDiff
  /** If both outputs are structured, with paths such as `output.items[2].date`. Empty if only the texts differ. */
  readonly changes?: readonly JsonChange[]
}

interface Side {
  readonly state: RunState
  readonly task: TaskState
}

export function diffTasks(a: Side | undefined, b: Side | undefined): TaskDiff {
  const name = (b ?? a)?.task.name ?? ''
  const sides = defined({ a: a && taskSide(a), b: b && taskSide(b) })
  const output = diffOutputs(a?.task, b?.task)
  const outputField = defined({ output })
  if (!a || !b) {
    const prompt = { tools: [], settings: [], schema: [] }
    return {
      name,
      differences: ['presence'],
      ...sides,
      definition: {},
      fields: [],
      prompt,
      steps: { results: [] },
      ...outputField,
    }
  }
  const makers = { a: outputAttempt(a.state, a.task), b: outputAttempt(b.state, b.task) }
  const definition = diffDefinitions(a.task, b.task)
  const [before, after] = [outputFingerprint(a), outputFingerprint(b)]
  const fields = before && after ? explainChange(before, after) : []
  const prompt = diffPrompts(makers.a, makers.b)
  const steps = diffSteps({ a: a.state, b: b.state }, makers)
  const found: Record<Exclude<Difference, 'presence'>, boolean> = {
    status: !sameStatus(taskSide(a), taskSide(b)),
    definition:
      Object.keys(definition).length > 0 || (before && after && changedFields(before, after).some(isDeclared)) === true,
    prompt: !samePrompt(prompt),
    steps: steps.parting !== undefined,
    output: output !== undefined,
  }
  const differences = (Object.keys(found) as (keyof typeof found)[]).filter((part) => found[part])
  return { name, differences, ...sides, definition, fields, prompt, steps, ...outputField }
}

function taskSide({ state, task }: Side): TaskSide {
  const { source, from, output } = task
  const runError = task.status === 'running' && state.error?.task === task.name ? state.error : undefined
  const error = task.error ?? runError
  return {
    status: runError ? 'failed' : task.status,
    ...defined({ source, from: from?.run, error: error && { code: error.code, message: error.message } }),
    attempts: task.attempts.length,
    usage: output?.usage ?? spentOn(state, task),
  }
}

function sameStatus(a: TaskSide, b: TaskSide): boolean {
  return a.status === b.status && a.error?.code === b.error?.code && a.error?.message === b.error?.message
}

function diffDefinitions(a: TaskState, b: TaskState): DefinitionDiff {
  const description = textDiff(a.description, b.description)
  const expectedOutput = textDiff(a.expectedOutput ?? '', b.expectedOutput ?? '')
  const agent = a.agent === b.agent ? undefined : defined({ a: a.agent, b: b.agent })
  return defined({ description, expectedOutput, agent })
}

/** An inherited output has the fingerprint that it was made with; an edited one has none. */
function outputFingerprint({ state, task }: Side): Fingerprint | undefined {
  const maker = outputAttempt(state, task)
  return task.output ? task.output.fingerprint : typeof maker === 'string' ? undefined : maker.fingerprint
}

/** Whether a fingerprint field is part of the definition. Inputs and outputs of tasks aren't: they are in prompts. */
function isDeclared(field: string): boolean {
  return !/^(?:input|context)(?::|$)/.test(field)
}

/** Compares two outputs. Undefined if they have the same text, or there is none. */
export function diffOutputs(a: TaskState | undefined, b: TaskState | undefined): OutputDiff | undefined {
  const [before, after] = [a?.output, b?.output]
  if (!before && !after) return undefined
  // an empty output isn't the same as no output
  const text = textDiff(before?.raw ?? '', after?.raw ?? '') ?? (before && after ? undefined : { parts: [] })
  if (!text) return undefined
  if (!before || !after) return { in: before ? 'a' : 'b', text }
  if (!before.structured || !after.structured) return { in: 'both', text }
  return { in: 'both', text, changes: jsonChanges(readJson(before.raw) ?? null, readJson(after.raw) ?? null, 'output') }
}
