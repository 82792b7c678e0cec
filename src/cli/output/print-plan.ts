// Prints a plan for people: the library's lines, wrapped, with colours for what is executed.
import { planLines, type Plan } from '../../crew/result/plan.ts'
import type { PlannedTask } from '../../journal/entries.ts'
import type { Channel, Format } from './terminal.ts'
import { wrap } from '../../text/wrap.ts'

const formats: { readonly [A in PlannedTask['action']]: Format } = { execute: 'yellow', edit: 'cyan', inherit: 'dim' }

export function printPlan(channel: Channel, plan: Plan): void {
  const names = Math.max(0, ...plan.tasks.map((planned) => planned.task.length))
  // under the reasons, unless long names leave no room
  const column = '  execute  '.length + names + 2
  const indent = column > channel.width / 2 ? '  execute  '.length : column
  for (const { type, text, action } of planLines(plan)) {
    if (action === undefined) {
      const format = type === 'warning' ? 'yellow' : undefined
      for (const row of wrap(text, channel.width, 4)) channel.line({ text: row, format })
      continue
    }
    const [first = '', ...rows] = wrap(`  ${text}`, channel.width, indent)
    channel.line('  ', { text: action, format: formats[action] }, first.slice(2 + action.length))
    for (const row of rows) channel.line(row)
  }
}
