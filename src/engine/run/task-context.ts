// What the earlier tasks of a run gave, as their schemas parse it, for code that depends on it. Code is given what is
// declared, and everything it is given is in a fingerprint (given-fields.ts).
import { messageOf, RepriseError } from '../../base/errors.ts'
import type { NewEntry, StoredOutput } from '../../journal/entries.ts'
import { plainInputs } from '../../journal/files.ts'
import { readJson } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { describe } from '../../base/options.ts'
import { namesWords } from '../../text/words.ts'
import { parseValue } from '../../schema/parse-value.ts'
import { conditionFingerprint } from './condition.ts'
import type { ConditionContext, TaskDefinition } from '../definition.ts'
import { fileReader } from '../read/run-files.ts'
import { isPlainText, outputMaker, missingOutputs, runOutputs } from './context-fields.ts'
import type { Life } from '../life.ts'
import { tasksNamed, waitsFor } from './waits-for.ts'

/**
 * The entry that skips the task, because its context names a failed task or because its condition does not hold.
 * TASK_FAILED when the condition throws.
 */
export async function skipEntry(life: Life, task: TaskDefinition): Promise<NewEntry | undefined> {
  // once the task is started, its condition has held, and is not asked again
  if ((life.state.tasks.get(task.name)?.attempts.length ?? 0) > 0) return undefined
  const failed = task.anyContext ? [] : failedBefore(life.state, task)
  if (failed.length > 0) {
    const reason = `${failed.length > 1 ? 'tasks' : 'task'} ${namesWords(failed)} failed`
    return { type: 'task.skipped', path: task.name, reason, failed }
  }
  if (!task.when) return undefined
  // never by timing: an async task that it does not wait for may or may not be done
  const soFar = await buildContext(life, waitsFor(life.crew, task))
  const { when } = task
  const fails = (what: string, cause?: unknown): RepriseError =>
    new RepriseError('TASK_FAILED', `the condition of task ${task.name} ${what}`, { task: task.name, cause })
  let holds: unknown
  try {
    holds = await when(soFar)
  } catch (error) {
    throw fails(`threw: ${redact(messageOf(error))}`, error)
  }
  if (typeof holds !== 'boolean') throw fails(`returned ${describe(holds)}; it must return true or false`)
  if (holds) return undefined
  const condition = conditionFingerprint(life.crew, task, life.state)
  return { type: 'task.skipped', path: task.name, reason: 'its condition does not hold', ...condition }
}

/** The failed tasks without which its context is not there. */
function failedBefore({ tasks }: RunState, { context }: TaskDefinition): string[] {
  const failed = context.flatMap((name) => {
    const task = tasks.get(name)
    return task?.final ? [name] : (task?.failed ?? [])
  })
  return [...new Set(failed)]
}

/** What a task that is a function or a crew is given: the outputs in its context. */
export function contextFor(life: Life, task: TaskDefinition): Promise<ConditionContext> {
  return buildContext(life, tasksNamed(life.crew, task.context))
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
 * Through the schema, live and on restore alike. What does not (or no longer) fit the code's schema is in `raw`, not
 * here.
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
