// A plan as a person reads it: the library's own text, fitted to the terminal, with colours for what is executed.
import type { Plan } from '../../crew/result/plan.ts'
import type { Channel, Format } from '../terminal/terminal.ts'
import { wrap } from '../../text/wrap.ts'

const formats: { readonly [action: string]: Format } = { execute: 'yellow', edit: 'cyan', inherit: 'dim' }

export function printPlan(channel: Channel, plan: Plan): void {
  const names = Math.max(0, ...plan.tasks.map((planned) => planned.task.length))
  // below the reasons, unless long names leave no room for them there
  const column = '  execute  '.length + names + 2
  const indent = column > channel.width / 2 ? '  execute  '.length : column
  for (const line of String(plan).split('\n')) {
    const [, action = ''] = /^ {2}(execute|inherit|edit) /.exec(line) ?? []
    const rows = wrap(line, channel.width, action === '' ? 4 : indent)
    const format = action === '' ? (line.startsWith('Warning:') ? 'yellow' : undefined) : formats[action]
    for (const [index, row] of rows.entries()) {
      if (index === 0 && action !== '') channel.line('  ', { text: action, format }, row.slice(2 + action.length))
      else channel.line(action === '' ? { text: row, format } : row)
    }
  }
}
