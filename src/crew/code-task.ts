// What users write for a task that is a function.
import type { CodeDefinition, CodeScene, Condition } from '../engine/definition.ts'
import { RepriseError } from '../errors.ts'
import type { Json } from '../journal/json.ts'
import { checkKeys, checkNumber, describe, longestSeconds } from '../options.ts'
import type { InferOutput, SchemaInput } from '../schema/answer-schema.ts'
import { effects, type Effect, type Settlement } from '../tools/tool.ts'
import type { CallbackPlace } from './callbacks.ts'
import { checkName } from './define/identity.ts'
import type { TaskOutput } from './result/result.ts'
import type { Task, TaskOptions } from './task.ts'

/** A task that is a function: fetching, saving, computing. Journaled, fingerprinted and replayed like any other. */
export interface CodeTaskOptions<
  Name extends string = string,
  Result = unknown,
  Schema extends SchemaInput = SchemaInput,
> {
  /** The task's identity. */
  readonly name: Name
  readonly description?: string
  readonly run: (scene: CodeScene) => Result
  /** What doing it again means, as for tools: `read`, `idempotent`, or `once` (the default), which is never done twice by itself. */
  readonly effect?: Effect
  /** Finds out whether a `once` function that was cut off did its work. `undefined`: cannot tell, ask a person. */
  readonly settle?: (idempotencyKey: string) => Settlement | undefined | Promise<Settlement | undefined>
  readonly maxSeconds?: number
  readonly output?: Schema
  readonly context?: readonly Task[]
  readonly async?: boolean
  readonly when?: Condition
  /** Where the output is written after the task's completion, below the working folder: `reports/{topic}.md`. At least once. */
  readonly outputFile?: string
  /** False: a folder of `outputFile` that is not there is an error. Default true. */
  readonly createDirectory?: boolean
  readonly callback?: (output: TaskOutput<CodeOutput<Result, Schema>>, place: CallbackPlace) => unknown
  /** Change it with the function: what that does is not seen. */
  readonly version?: string
}

/** What is kept of a result is its JSON, so that a resumed run sees what a live one saw. */
export type CodeOutput<Result, Schema> = [Schema] extends [never]
  ? Awaited<Result> extends Json
    ? Awaited<Result>
    : unknown
  : InferOutput<Schema>

export function isCode(options: unknown): options is CodeTaskOptions {
  return typeof options === 'object' && options !== null && 'run' in options
}

const codeKeys = [
  'name',
  'description',
  'run',
  'effect',
  'settle',
  'maxSeconds',
  'output',
  'context',
  'async',
  'when',
  'outputFile',
  'createDirectory',
  'callback',
  'version',
]

/** CREW_INVALID, OPTION_UNKNOWN. */
export function fromCode(options: CodeTaskOptions): TaskOptions & { readonly code: CodeDefinition } {
  checkKeys('a task with run', options, codeKeys)
  const { run, effect = 'once', settle, maxSeconds, ...rest } = options
  checkName('a task', options.name)
  const what = `task ${options.name}`
  for (const [key, value] of Object.entries({ run, settle })) {
    if (typeof value === 'function' || (key === 'settle' && value === undefined)) continue
    throw new RepriseError('CREW_INVALID', `${key} of ${what} is ${describe(value)}; give a function`)
  }
  if (!effects.includes(effect)) {
    const words = `the effect of ${what} is ${describe(effect)}; give 'read', 'idempotent' or 'once'`
    throw new RepriseError('CREW_INVALID', words)
  }
  checkNumber(`maxSeconds of ${what}`, maxSeconds, 0.001, longestSeconds)
  const code = { effect, settle, maxSeconds, run: (scene: CodeScene): unknown => run(scene) }
  return { ...rest, description: options.description ?? `the function of ${what}`, code }
}
