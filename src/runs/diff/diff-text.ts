// A diff as text, for a terminal of 80 columns or a log. Colours can be added by the kind of each line.
import type { RunDiff, RunSide } from './diff-runs.ts'
import type { TaskDiff } from './task-diff.ts'
import { dollars, duration, longTime, plural, usageWords } from '../../text/words.ts'
import { namesByGroup } from '../../journal/paths.ts'
import { changeLines } from './text-lines.ts'
import { markedLines, noteLines, titleLine, type DiffLine } from './diff-lines.ts'
import { taskLines } from './task-lines.ts'

export interface DiffTextOptions {
  /** Equal lines around each change of a text. Default: 3. */
  readonly context?: number
}

/** Formats a diff. Control characters are shown as pictures, so foreign text is harmless. Long values are cut. */
export function diffText(diff: RunDiff, options: DiffTextOptions = {}): string {
  return diffLines(diff, options)
    .map((line) => line.text)
    .join('\n')
}

/** The lines of `diffText`, with their kinds. */
export function diffLines(diff: RunDiff, { context = 3 }: DiffTextOptions = {}): DiffLine[] {
  const { a, b, inputs, order, tasks } = diff
  const differing = tasks.filter((task) => task.differences.length > 0)
  const equal = tasks.filter((task) => task.differences.length === 0)
  if (diff.same)
    return [
      ...titleLine(`Run ${a.id} and run ${b.id} of crew ${b.crew} are the same: inputs, prompts, steps and outputs.`),
      ...sourceLines(equal),
    ]
  return [
    ...runLines('---', 'removed', a),
    ...runLines('+++', 'added', b),
    ...section(titleLine(headline(diff))),
    ...(inputs.length > 0 ? section([...titleLine('Inputs'), ...changeLines(inputs, context)]) : []),
    ...(order
      ? section([
          ...titleLine('Order of the tasks'),
          ...markedLines('removed', order.a.join(', ')),
          ...markedLines('added', order.b.join(', ')),
        ])
      : []),
    ...differing.flatMap((task) => section(taskLines(task, context))),
    ...(equal.length > 0
      ? section([...titleLine(`The same in both: ${taskNames(equal)}`), ...sourceLines(equal)])
      : []),
  ]
}

/** Lists equal tasks that only one run executed: in the other, there are no prompt and no steps to compare. */
function sourceLines(tasks: readonly TaskDiff[]): DiffLine[] {
  const lines = (['inherited', 'edited'] as const).flatMap((source) => {
    const only = (side: 'a' | 'b', other: 'a' | 'b'): TaskDiff[] =>
      tasks.filter((task) => task[side]?.source === source && task[other]?.source !== source)
    return [
      { words: `${source} in the first run`, tasks: only('a', 'b') },
      { words: `${source} in the second run`, tasks: only('b', 'a') },
    ]
  })
  return lines.flatMap((line) => (line.tasks.length > 0 ? noteLines(`${line.words}: ${taskNames(line.tasks)}`) : []))
}

function taskNames(tasks: readonly TaskDiff[]): string {
  return namesByGroup(tasks.map(({ name }) => name)).join(', ')
}

function runLines(mark: string, kind: 'removed' | 'added', side: RunSide): DiffLine[] {
  const { id, crew, status, createdAt, durationMs, usage, cost, error } = side
  const price = cost === undefined ? [] : [dollars(cost)]
  const spent = usage.calls > 0 ? [plural(usage.calls, 'call'), usageWords(usage), ...price] : ['no model call']
  const facts = [status, longTime(createdAt), duration(durationMs), ...spent]
  return [
    ...titleLine(`${mark} run ${id} of crew ${crew}`).map((line) => ({ ...line, kind })),
    ...noteLines(`  ${facts.join(', ')}`),
    ...(error ? noteLines(`  ${error.code}: ${error.message}`, 2) : []),
  ]
}

function headline({ first, a, b, inputs, order, tasks }: RunDiff): string {
  if (first !== undefined) {
    const count = tasks.filter((task) => task.differences.length > 0).length
    return `${count} of ${plural(tasks.length, 'task')} differ${count === 1 ? 's' : ''}, starting with ${first}.`
  }
  const what = [
    ...(a.crew === b.crew ? [] : ['the crews']),
    ...(inputs.length > 0 ? ['the inputs'] : []),
    ...(order ? ['the order of the tasks'] : []),
    ...(a.status === b.status ? [] : ['the statuses']),
  ]
  return `No task differs, only ${what.join(', ') || 'the errors'}.`
}

function section(lines: readonly DiffLine[]): DiffLine[] {
  return [{ kind: 'note', text: '' }, ...lines]
}
