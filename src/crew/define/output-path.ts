// Output files: paths inside the working folder, with placeholders. The template is checked when the task is created,
// the path before anything is spent; neither check looks at the disk.
import type { Inputs, TaskDefinition } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { asFileReference } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { text, type Check, describe, ownMember } from '../../base/options.ts'
import { placeholders, type ItemText } from '../../text/fill-in.ts'
import { interpolate } from './define-agent.ts'
import type { Task } from '../task.ts'

/** Refuses a template that never results in a path inside the working folder. */
export const outputFileCheck: Check<string> = {
  expected: 'a path inside the working folder, such as reports/{topic}.md',
  read(what, value) {
    const template = text.read(what, value)
    const problem = pathProblem(
      interpolate(template, Object.fromEntries(placeholders(template).map((name) => [name, 'x'])), what),
    )
    if (problem === undefined) return template
    const words = `${what} is ${describe(template)}, which ${problem}; give ${outputFileCheck.expected}`
    throw new RepriseError('OPTION_INVALID', words)
  },
}

/**
 * Returns the path with inputs filled in, separated by `/`. Throws INPUT_MISSING, or INPUT_INVALID if the inputs result
 * in no valid path.
 */
function outputPath(template: string, inputs: Inputs, task: string, itemText?: ItemText): string {
  const where = `outputFile of task ${task}`
  const used = placeholders(template).flatMap((name) => {
    const value = ownMember(inputs, name)
    return value === undefined ? [] : [[name, pathText(value, `${where} uses {${name}}, which`)]]
  })
  const path = interpolate(template, Object.fromEntries(used) as Inputs, where, itemText)
  const problem = pathProblem(path)
  if (problem === undefined) return pathParts(path).join('/')
  const words = `${where}, ${describe(template)}, becomes ${describe(path)} with these inputs, which ${problem}; give ${outputFileCheck.expected}`
  throw new RepriseError('INPUT_INVALID', words)
}

/** Returns a string or number as is, and the name of a file. */
function pathText(value: Json, what: string): string {
  const file = asFileReference(value)
  if (file) return file.name
  if (typeof value !== 'object') return String(value)
  throw new RepriseError('INPUT_INVALID', `${what} is ${describe(value)}; a path takes strings and numbers`)
}

function pathProblem(path: string): string | undefined {
  if (/[\p{Cc}]/u.test(path)) return 'has a control character'
  if (path.startsWith('~')) return 'begins with ~, which is not expanded'
  if (/^([\\/]|[A-Za-z]:)/.test(path)) return 'is absolute'
  const parts = pathParts(path)
  if (parts.includes('..')) return 'leads upwards with ..'
  if (parts.length === 0 || /[\\/]$/.test(path)) return 'names a folder'
  // leaves room for the longer temporary name within the limits of file systems
  if (parts.some((part) => Buffer.byteLength(part) > 200)) return 'has a name of more than 200 bytes'
  return undefined
}

/** Splits at `/` and `\` on every system, so that a path means the same everywhere. */
function pathParts(path: string): string[] {
  return path.split(/[\\/]/).filter((part) => part !== '' && part !== '.')
}

/**
 * Returns the template of the file that the task writes in every run, normalized for comparison. Undefined for a task
 * with a condition, since two such tasks may be alternatives.
 */
export function fileInEveryRun({ outputFile, when }: Task): string | undefined {
  return outputFile === undefined || when ? undefined : pathParts(outputFile).join('/')
}

/**
 * Defines the output file of a task. It is not part of the fingerprint: the output does not depend on where it is
 * written.
 */
export function defineOutputFile({ name, outputFile, createDirectory }: Task): TaskDefinition['outputFile'] {
  return outputFile === undefined
    ? undefined
    : { createDirectory, pathFor: (inputs, itemText) => outputPath(outputFile, inputs, name, itemText) }
}
