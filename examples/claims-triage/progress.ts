// Prints the progress of a run for people who watch it: one short line per entry of its journal, in words for
// newcomers.
import { styleText } from 'node:util'
import type { Entry } from 'reprise/journal'

const nameWidth = 12

export function heading(text: string, colour?: 'red'): void {
  console.log(`\n${styleText(colour ? ['bold', colour] : 'bold', text)}`)
}

export function say(text: string): void {
  console.log(`   ${text}`)
}

function printStep(path: string | undefined, words: string): void {
  say(`${taskOf(path).padEnd(nameWidth)}${words}`)
}

/** Returns a function that prints the entries of one run. It is stateful: some words depend on earlier entries. */
export function progressPrinter(): (entry: Entry) => void {
  const tools = new Map<string, string>()
  const done = new Set<string>()
  const open = new Map<string, Steps>()
  return (entry) => {
    const { path } = entry
    const task = taskOf(path)
    switch (entry.type) {
      case 'run.resumed':
        for (const name of done) printStep(name, 'restored from the journal: nothing to pay')
        for (const [name, steps] of open) if (!done.has(name)) printStep(name, `continues: ${kept(steps)} read back`)
        return
      case 'task.inherited':
        return printStep(path, 'inherited from the first run: nothing to pay')
      case 'task.started':
        return printStep(path, `starts (${entry.agent})`)
      case 'task.completed':
        done.add(task)
        return printStep(path, 'done')
      case 'model.replied': {
        const wanted = entry.parts.flatMap((part) => (part.type === 'call' ? [part.tool] : []))
        stepsOf(open, task).replies += 1
        return printStep(path, wanted.length > 0 ? `the model asks for ${wanted.join(' and ')}` : 'the model answers')
      }
      case 'tool.called': {
        const again = tools.has(path ?? '') ? ' again: reading twice is harmless' : ''
        tools.set(path ?? '', entry.tool)
        return printStep(path, `${entry.tool} runs${again}${entry.effect === 'once' ? ' (once, and never again)' : ''}`)
      }
      case 'tool.returned': {
        const tool = tools.get(path ?? '') ?? 'the tool'
        stepsOf(open, task).tools.push(tool)
        return printStep(path, `${tool} returns ${resultOf(entry.outcome)}`)
      }
      case 'run.failed':
        return say(`the run failed: ${entry.error.message}`)
      default:
        return
    }
  }
}

interface Steps {
  replies: number
  readonly tools: string[]
}

function stepsOf(open: Map<string, Steps>, task: string): Steps {
  const steps = open.get(task) ?? { replies: 0, tools: [] }
  open.set(task, steps)
  return steps
}

function kept({ replies, tools }: Steps): string {
  return [`${replies} model replies`, ...tools].join(' and ')
}

/** Returns the task of a path: `assessment` for `assessment#1/2.0`. */
export function taskOf(path: string | undefined): string {
  return path?.split('#')[0] ?? ''
}

function resultOf(outcome: Extract<Entry, { type: 'tool.returned' }>['outcome']): string {
  const text = JSON.stringify('result' in outcome ? outcome.result : outcome)
  return text.length <= 42 ? text : `${text.slice(0, 41)}…`
}
