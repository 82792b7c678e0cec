// The lines about one task that differs.
import { cutToWidth } from '../../text/columns.ts'
import { plural, usageWords } from '../../text/words.ts'
import { changeLines, textLines } from './text-lines.ts'
import { markedLines, noteLines, titleLine, type DiffLine } from './diff-lines.ts'
import type { MissingReason, PromptDiff, ToolChange } from './prompt-diff.ts'
import type { ResultChange, Step, StepCounts, StepsDiff } from './steps-diff.ts'
import type { Difference, OutputDiff, TaskDiff, TaskSide } from './task-diff.ts'
import type { TextDiff } from './text-diff.ts'

export function taskLines(task: TaskDiff, context: number): DiffLine[] {
  return [
    ...titleLine(headline(task)),
    ...sideLines(task),
    ...(task.fields.length > 0 ? noteLines(task.fields.join('; ')) : []),
    ...definitionLines(task, context),
    ...promptLines(task.prompt, context),
    ...stepsLines(task.steps, context),
    ...(task.output ? outputLines(task.output, context) : []),
  ]
}

function headline({ name, differences, a }: TaskDiff): string {
  if (differences.includes('presence')) return `Task ${name}: only in the ${a ? 'first' : 'second'} run`
  const words: readonly string[] = differences satisfies readonly Difference[]
  const list = words.length > 1 ? `${words.slice(0, -1).join(', ')} and ${words.at(-1)}` : words[0]
  return `Task ${name}: ${list} ${words.length > 1 || words[0] === 'steps' ? 'differ' : 'differs'}`
}

/** Empty if only tokens differ: the tokens of the runs are shown at the top. */
function sideLines({ a, b }: TaskDiff): DiffLine[] {
  if (a && b && describeTaskSide(a) === describeTaskSide(b)) return []
  const line = (kind: 'removed' | 'added', side: TaskSide | undefined): DiffLine[] => {
    if (!side) return []
    const { usage } = side
    return markedLines(
      kind,
      usage.calls > 0 ? `${describeTaskSide(side)} (${usageWords(usage)})` : describeTaskSide(side),
    )
  }
  return [...line('removed', a), ...line('added', b)]
}

function describeTaskSide({ status, source, from, attempts, error }: TaskSide): string {
  const how = status === 'completed' ? (source ?? status) : status
  const tries = attempts > 1 ? ` in ${attempts} attempts` : ''
  const words = `${how}${from === undefined ? '' : ` from run ${from}`}${tries}`
  return error ? `${words}: ${error.code}: ${error.message}` : words
}

/** The declared texts are shown only if there are no prompts to compare, since a prompt contains them, filled in. */
function definitionLines({ definition, prompt }: TaskDiff, context: number): DiffLine[] {
  const { description, expectedOutput, agent } = definition
  return [
    ...(agent ? pair('agent', agent.a ?? 'none', agent.b ?? 'none') : []),
    ...(prompt.missing ? textSection('description', description, context) : []),
    ...(prompt.missing ? textSection('expected output', expectedOutput, context) : []),
  ]
}

function promptLines(prompt: PromptDiff, context: number): DiffLine[] {
  const { missing = {}, model, settings, schema } = prompt
  return [
    ...missingLines(missing.a, 'first'),
    ...missingLines(missing.b, 'second'),
    ...(model ? pair('model', model.a, model.b) : []),
    ...changeSection('settings', settings, context),
    ...changeSection('output schema', schema, context),
    ...prompt.tools.flatMap((tool) => toolLines(tool, context)),
    ...textSection('instructions', prompt.instructions, context),
    ...textSection('message', prompt.message, context),
  ]
}

function missingLines(missing: MissingReason | undefined, run: string): DiffLine[] {
  switch (missing) {
    case 'inherited':
      return noteLines(`no prompt to compare: the ${run} run inherited the output`)
    case 'edited':
      return noteLines(`no prompt to compare: a person wrote the output in the ${run} run`)
    // the status already shows this
    case 'not started':
    case undefined:
      return []
  }
}

function toolLines(tool: ToolChange, context: number): DiffLine[] {
  if (tool.kind === 'changed') return changeSection(`tool ${tool.name}`, tool.changes, context)
  return markedLines(tool.kind, `tool ${tool.name}`)
}

function stepsLines({ a, b, parting, results }: StepsDiff, context: number): DiffLine[] {
  const resultDiffs = results.flatMap((result) => resultLines(result, context))
  if (!parting || !a || !b) return resultDiffs
  const [before, after] = [describeCounts(a), describeCounts(b)]
  return [
    ...resultDiffs,
    ...noteLines(`steps diverge: ${before === after ? before : `${before} vs ${after}`}`),
    ...markedLines('removed', describeStep(parting.a)),
    ...markedLines('added', describeStep(parting.b)),
  ]
}

function resultLines({ tool, input, a, b, changes }: ResultChange, context: number): DiffLine[] {
  const where = a === b ? a : `${a} and ${b}`
  return [
    ...noteLines(`${describeCall(tool, input)} at ${where} returned a different result`),
    ...changeLines(changes, context),
  ]
}

function describeCounts({ modelCalls, toolCalls }: StepCounts): string {
  const counts = [plural(modelCalls, 'model call'), ...(toolCalls > 0 ? [plural(toolCalls, 'tool call')] : [])]
  return modelCalls + toolCalls === 0 ? 'none' : counts.join(', ')
}

function describeStep(step: Step | undefined): string {
  if (!step) return 'no further step'
  if (step.kind === 'model') return `${step.path} a model call`
  const outcome = outcomeWords[step.outcome] ?? `, ${step.outcome}`
  return `${step.path} ${describeCall(step.tool, step.input)}${outcome}`
}

const outcomeWords: { readonly [outcome: string]: string } = {
  result: '',
  unknown: ', no result recorded',
  none: ', not made',
}

function describeCall(tool: string, input: unknown): string {
  const text = JSON.stringify(input)
  return `${tool}(${text.length > 120 ? `${cutToWidth(text.slice(0, 500), 119)}…` : text})`
}

function outputLines({ in: where, text, changes }: OutputDiff, context: number): DiffLine[] {
  if (changes?.length === 0) return noteLines('output: the same values, formatted differently')
  if (changes && where === 'both') return changeSection('output', changes, context)
  // if only one run has an output, its beginning is enough
  return [...noteLines('output'), ...textLines(text, context, where === 'both' ? undefined : 6)]
}

function textSection(name: string, text: TextDiff | undefined, context: number): DiffLine[] {
  return text ? [...noteLines(name), ...textLines(text, context)] : []
}

function changeSection(name: string, changes: Parameters<typeof changeLines>[0], context: number): DiffLine[] {
  return changes.length > 0 ? [...noteLines(name), ...changeLines(changes, context)] : []
}

function pair(name: string, a: string, b: string): DiffLine[] {
  return [...markedLines('removed', `${name}: ${a}`), ...markedLines('added', `${name}: ${b}`)]
}
