// One task in two runs.
import { defined } from '../../base/options.ts'
import type { Failure, Fingerprint, Usage } from '../../journal/entries.ts'
import { changedFields, explainChange } from '../../journal/describe.ts'
import { readJson } from '../../journal/json.ts'
import { spentOn, type RunState, type TaskState, type TaskStatus } from '../../journal/state/state.ts'
import { jsonChanges, type JsonChange } from './json-changes.ts'
import { outputAttempt, diffPrompts, samePrompt, type PromptDiff } from './prompt-diff.ts'
import { diffSteps, type StepsDiff } from './steps-diff.ts'
import { textDiff, type TextDiff } from './text-diff.ts'

export interface TaskDiff {
  readonly name: string
  /**
   * Why the task differs; empty when it does not.
   * - `presence`: only one run has it
   * - `status`: it ended otherwise, or failed with another error
   * - `definition`: its texts, agent, model, tools, or whatever else of the crew's code its fingerprint covers
   * - `prompt`: what was sent; compared where both runs sent something
   * - `steps`: the tool calls, or how many model calls there were; compared where both runs took steps
   * - `output`: its text, or that there is one
   *
   * Tokens, time, failed tries, attempts that were given up, and whether an equal output was executed, inherited or
   * edited do not count.
   */
  readonly differences: readonly Difference[]
  /** Absent if the run doesn't have the task. Then definition, fields, prompt and steps are empty. */
  readonly a?: TaskSide
  readonly b?: TaskSide
  /** Changes of the declared texts, with their placeholders. */
  readonly definition: DefinitionDiff
  /** Changed fingerprint fields, in words: "input topic changed". */
  readonly fields: readonly string[]
  readonly prompt: PromptDiff
  readonly steps: StepsDiff
  /** Absent if both have the same text, or none. */
  readonly output?: OutputDiff
}

export type Difference = 'presence' | 'status' | 'definition' | 'prompt' | 'steps' | 'output'

export interface TaskSide {
  /** A task at which the run failed is `failed`, even if a resume would continue it. */
  readonly status: TaskStatus
  /** How a completed task got its output. */
  readonly source?: 'executed' | 'inherited' | 'edited'
  /** The run that made an inherited output. */
  readonly from?: string
  readonly attempts: number
  /** Usage of the execution that made the output, in whichever run. */
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
  /** If both are structured: `output.items[2].date`. Empty if only the text differs, not the value. */
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
  const gave = defined({ output })
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
      ...gave,
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
  return { name, differences, ...sides, definition, fields, prompt, steps, ...gave }
}

function taskSide({ state, task }: Side): TaskSide {
  const { source, from, output } = task
  const stopped = task.status === 'running' && state.error?.task === task.name ? state.error : undefined
  const error = task.error ?? stopped
  return {
    status: stopped ? 'failed' : task.status,
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

/** Inputs and outputs of other tasks don't define the task: they show in the prompt. */
function isDeclared(field: string): boolean {
  return !/^(?:input|context)(?::|$)/.test(field)
}

/** Undefined if both have the same text, or none. */
export function diffOutputs(a: TaskState | undefined, b: TaskState | undefined): OutputDiff | undefined {
  const [before, after] = [a?.output, b?.output]
  if (!before && !after) return undefined
  // an empty text isn't the same as no text
  const text = textDiff(before?.raw ?? '', after?.raw ?? '') ?? (before && after ? undefined : { parts: [] })
  if (!text) return undefined
  if (!before || !after) return { in: before ? 'a' : 'b', text }
  if (!before.structured || !after.structured) return { in: 'both', text }
  return { in: 'both', text, changes: jsonChanges(readJson(before.raw) ?? null, readJson(after.raw) ?? null, 'output') }
}
