// The context of a question: the tasks above it, from the root run to the child run that asks, with the inputs and
// outputs of each run so far. In short form a line for each, else in full.
import { describeFiles } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import type { AskingTask } from '../../journal/state/open-questions.ts'
import { shorten } from '../../text/plain-text.ts'
import { plural } from './words.ts'
import type { Channel } from './terminal.ts'
import { printBlock } from './print-block.ts'

const mostLines = 6
const widest = 200

interface Item {
  readonly name: string
  readonly text: string
}

/** `research/facts`: the task that asks, after the tasks of its parents. */
export function askingTaskPath(asking: readonly AskingTask[]): string {
  return asking.map(({ task }) => task).join('/')
}

/** Returns whether everything was shown. `known`: how many levels, from the root, are shown elsewhere. */
export function printAsking(channel: Channel, asking: readonly AskingTask[], known = 0): boolean {
  let whole = true
  for (const level of asking.slice(known)) {
    if (asking.length > 1) printAskingTask(channel, level)
    for (const [label, items] of contextItems(level)) {
      for (const item of items.slice(0, mostLines)) {
        const head = `  ${label.padEnd(8)}`
        const line = `${item.name} = ${item.text}`
        const shown = shorten(line, Math.min(channel.width, widest) - head.length)
        // line breaks become spaces, which loses nothing
        whole &&= shown === shorten(line, Infinity)
        channel.line({ text: head, format: 'dim' }, shown)
      }
      if (items.length <= mostLines) continue
      whole = false
      channel.line({ text: `  … ${plural(items.length - mostLines, `more ${label}`)}`, format: 'dim' })
    }
  }
  return whole
}

export function printAskingWhole(channel: Channel, asking: readonly AskingTask[]): void {
  for (const level of asking) {
    printAskingTask(channel, level)
    printBlock(channel, '  ', level.description)
    for (const [label, items] of contextItems(level)) {
      for (const { name, text } of items) {
        channel.line({ text: `  ${label} ${name}`, format: 'bold' })
        printBlock(channel, '  ', text)
      }
    }
  }
}

function printAskingTask(channel: Channel, { runId, crew, task }: AskingTask): void {
  channel.line({ text: `  task ${task} of crew ${crew}, run ${runId}`, format: 'dim' })
}

function contextItems({ inputs, outputs }: AskingTask): [label: string, items: readonly Item[]][] {
  return [
    ['input', Object.entries(inputs).map(([name, value]) => ({ name, text: inputText(value) }))],
    ['output', outputs.map(({ task, raw }) => ({ name: task, text: raw }))],
  ]
}

function inputText(value: Json): string {
  const shown = describeFiles(value)
  return typeof shown === 'string' ? shown : JSON.stringify(shown)
}
