// Outputs that a person gives in place of a task's own: text for a task without a schema, else JSON.
import type { Crew } from '../../crew/crew.ts'
import type { Task } from '../../crew/task.ts'
import { UsageError } from '../exit-codes.ts'
import { findCrewTask } from '../find/find-task.ts'
import { parseJson, readText } from './inputs.ts'

/**
 * Outputs by task name, from `task=text`, `task=@file` and `task:=json`. TASK_NOT_FOUND; a usage error if a task is
 * given twice.
 */
export async function readOutputs(crew: Crew, pairs: readonly string[] = []): Promise<Map<string, unknown>> {
  const outputs = new Map<string, unknown>()
  for (const pair of pairs) {
    const [, name = '', sign = '', value = ''] = /^([^=]*?)(:?=)(.*)$/s.exec(pair) ?? []
    if (name === '' || sign === '') {
      throw new UsageError(`--output is ${JSON.stringify(pair)}; write it as task=text, task=@file or task:=json`)
    }
    const task = await findCrewTask(crew, name)
    if (outputs.has(task.name))
      throw new UsageError(`--output ${task.name} is given twice; give it once, and others for other tasks`)
    const what = `--output ${task.name}`
    outputs.set(task.name, sign === ':=' ? parseJson(value, what) : readOutput(task, value, what))
  }
  return outputs
}

/** `@file` is the file's text. */
export function readOutput(task: Task, typed: string, what: string): unknown {
  const hint = `a text that begins with @ goes into a file`
  return parseOutput(task, typed.startsWith('@') ? readText(typed.slice(1), what, hint) : typed, what)
}

export function parseOutput(task: Task, text: string, what: string): unknown {
  if (!task.schema) return text
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    const words = `${what} is not JSON (${(error as Error).message}); task ${task.name} has a schema, so give JSON that fits it`
    throw new UsageError(words)
  }
}
