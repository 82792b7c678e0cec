// Where a task's output is written: a path inside the working folder, templated with inputs. What can be seen of it
// without looking at the disk is checked here, of the template when the task is made and of the path before anything is
// spent.
import type { Inputs, TaskDefinition } from '../../engine/definition.ts'
import { RepriseError } from '../../base/errors.ts'
import { asFileReference } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import { text, type Check } from '../../base/checks.ts'
import { describe, ownMember } from '../../base/options.ts'
import { placeholders } from '../../text/fill-in.ts'
import { interpolate } from './placeholders.ts'
import type { Task } from '../task.ts'

/** OPTION_INVALID for a template that cannot give a path inside the working folder, whatever the inputs. */
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
 * The path, with `/` between its parts. INPUT_MISSING; INPUT_INVALID when an input leads it out of the working folder.
 */
function outputPath(template: string, inputs: Inputs, task: string): string {
  const where = `outputFile of task ${task}`
  const used = placeholders(template).flatMap((name) => {
    const value = ownMember(inputs, name)
    return value === undefined ? [] : [[name, pathText(value, `${where} uses {${name}}, which`)]]
  })
  const path = interpolate(template, Object.fromEntries(used) as Inputs, where)
  const problem = pathProblem(path)
  if (problem === undefined) return pathParts(path).join('/')
  const words = `${where}, ${describe(template)}, becomes ${describe(path)} with these inputs, which ${problem}; give ${outputFileCheck.expected}`
  throw new RepriseError('INPUT_INVALID', words)
}

/** A text or number stands for itself, a file for its name. */
function pathText(value: Json, what: string): string {
  const file = asFileReference(value)
  if (file) return file.name
  if (typeof value !== 'object') return String(value)
  throw new RepriseError('INPUT_INVALID', `${what} is ${describe(value)}; a path takes texts and numbers`)
}

function pathProblem(path: string): string | undefined {
  if (/[\p{Cc}]/u.test(path)) return 'has a control character'
  if (path.startsWith('~')) return 'begins with ~, which is not expanded'
  if (/^([\\/]|[A-Za-z]:)/.test(path)) return 'is absolute'
  const parts = pathParts(path)
  if (parts.includes('..')) return 'leads upwards with ..'
  if (parts.length === 0 || /[\\/]$/.test(path)) return 'names a folder'
  // a temporary name, which is longer, must fit into what file systems take
  if (parts.some((part) => Buffer.byteLength(part) > 200)) return 'has a name of more than 200 bytes'
  return undefined
}

/** `\` separates everywhere, so that a path means the same on every system. */
function pathParts(path: string): string[] {
  return path.split(/[\\/]/).filter((part) => part !== '' && part !== '.')
}

/**
 * The file that a task writes whenever its crew runs, as a template, equal for equal places. One with a condition may
 * stand in for another.
 */
export function fileInEveryRun({ outputFile, when }: Task): string | undefined {
  return outputFile === undefined || when ? undefined : pathParts(outputFile).join('/')
}

/** No part of the fingerprint: what a task gives does not depend on where it is written. */
export function defineOutputFile({ name, outputFile, createDirectory }: Task): TaskDefinition['outputFile'] {
  return outputFile === undefined
    ? undefined
    : { createDirectory, pathFor: (inputs) => outputPath(outputFile, inputs, name) }
}
