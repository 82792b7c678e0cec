// The compiler holds the tables of options equal to their interfaces. Nothing here runs: `tsc` fails when an expected
// error does not come.
import { anyText, flag, type Table } from '../../src/base/options.ts'
import { taskRows, type TaskRows } from '../../src/crew/options/task-table.ts'

interface Options {
  readonly name: string
  readonly loud?: boolean
}
interface Made {
  readonly name: string
  readonly loud: boolean
}

const name = { takes: anyText, required: true, does: 'its name' } as const
const loud = { takes: flag, default: false, does: 'whether it is' } as const
const table = { object: 'tool', called: 'name', lacks: {} } as const

export const right: Table<Options, Made> = { ...table, options: { name, loud } }
// @ts-expect-error -- an option without a row
export const less: Table<Options, Made> = { ...table, options: { name } }
// @ts-expect-error -- a row without an option
export const more: Table<Options, Made> = { ...table, options: { name, loud, quiet: loud } }
// @ts-expect-error -- a check of something else
export const other: Table<Options, Made> = { ...table, options: { name, loud: { takes: anyText, does: 'no' } } }
// @ts-expect-error -- a required option marked as optional
export const optional: Table<Options, Made> = { ...table, options: { name: { takes: anyText, does: 'no' }, loud } }
// @ts-expect-error -- an option that is always set, without a default
export const empty: Table<Options, Made> = { ...table, options: { name, loud: { takes: flag, does: 'no' } } }
// @ts-expect-error -- a default of another kind
export const strange: Table<Options, Made> = { ...table, options: { name, loud: { ...loud, default: 'no' } } }

export const tasks: TaskRows = taskRows
// @ts-expect-error -- tasks that are functions have no retries
export const wide: TaskRows = { ...taskRows, retries: { ...taskRows.retries, of: { agent: 'may', run: 'may' } } }
// @ts-expect-error -- all kinds have a version
export const narrow: TaskRows = { ...taskRows, version: { ...taskRows.version, of: { agent: 'may' } } }
