// All prompt texts of a crew. Changing one changes what is sent, but not the fingerprint of a task, which covers what
// users declare.

import type { RenderedTask } from '../../engine/definition.ts'

export interface AgentTexts {
  readonly role: string
  readonly goal: string
  readonly backstory?: string | undefined
}

export function instructionsFor({ role, goal, backstory }: AgentTexts): string {
  const about = backstory ? `\n\n${backstory}` : ''
  return (
    `You are ${role}.${about}\n\nYour goal: ${goal}\n\n` +
    `Work on the task you are given until it is done. Use the tools you have where they help, and do not make up what they could tell you. ` +
    `Your last message is the result of the task and is used as it stands: give the result itself, without remarks about it.`
  )
}

export function dateWords(date: string): string {
  return `Today's date: ${date}`
}

export interface TaskTexts {
  readonly description: string
  readonly expectedOutput?: string | undefined
  /** Tasks whose outputs the message contains. */
  readonly context: readonly string[]
  /** Context tasks that failed, and whose outputs are missing. */
  readonly missing?: readonly string[]
  readonly structured: boolean
  readonly markdown?: boolean
}

/** The message as parts; `{ output }` is where the output of that task goes. */
export function messageFor({
  description,
  expectedOutput,
  context,
  missing = [],
  structured,
  markdown,
}: TaskTexts): RenderedTask['message'] {
  const parts = [`Task: ${description}`]
  if (expectedOutput) parts.push(`Expected result: ${expectedOutput}`)
  if (structured) parts.push('Answer with JSON that fits the schema you are given, and nothing else.')
  if (markdown) parts.push(structured ? 'Write the texts inside it as Markdown.' : asMarkdown)
  if (missing.length > 0) parts.push(missingContextText(missing))
  if (context.length > 0) parts.push('What earlier tasks found:')
  return [parts.join('\n\n'), ...context.flatMap((task) => [`\n\n--- ${task} ---\n`, { output: task }])]
}

function missingContextText(missing: readonly string[]): string {
  return `Some earlier tasks failed, so there is no result of: ${missing.join(', ')}. Work with the results that there are, and do not make up the missing ones.`
}

const asMarkdown = 'Write the result as Markdown, and do not put it into a code block.'
