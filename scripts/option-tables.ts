// Generates the option tables in docs/reference/library.md from the code: node scripts/option-tables.ts
import { readFileSync, writeFileSync } from 'node:fs'
import { agentTable } from '../src/crew/options/agent-options.ts'
import { crewTable } from '../src/crew/options/crew-options.ts'
import { taskRows } from '../src/crew/options/task-table.ts'
import { flowTable } from '../src/crew/options/flow-options.ts'
import type { Option } from '../src/base/options.ts'
import { toolTable } from '../src/tools/tool-options.ts'

type Rows = { readonly [name: string]: Option & { readonly of?: { readonly [kind: string]: 'may' | 'must' } } }

/** The options of each object. */
export const optionRows: { readonly [object: string]: Rows } = {
  agent: agentTable.options,
  task: taskRows,
  crew: crewTable.options,
  flow: flowTable.options,
  tool: toolTable.options,
}

const page = new URL('../docs/reference/library.md', import.meta.url)

/** Returns the page with its tables replaced by those of the code. */
export function withOptionTables(text: string): string {
  return text.replaceAll(/(<!-- options of (\w+) -->\n)[^]*?(?=<!-- end -->)/g, (_, mark: string, object: string) => {
    return `${mark}\n${tableOf(optionRows[object] ?? {})}\n`
  })
}

function tableOf(rows: Rows): string {
  const kinds = Object.values(rows).some((row) => row.of)
  const titles = ['option', ...(kinds ? ['for'] : []), 'takes', 'what it does', 'if left out', 'in CrewAI']
  const lines = Object.entries(rows).map(([name, row]) => [
    code(name),
    ...(row.of ? [kindsOf(row.of)] : []),
    row.takes.expected,
    row.does,
    leftOut(row),
    (row.crewai ?? []).map(code).join(', '),
  ])
  return [titles, titles.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |\n`).join('')
}

function kindsOf(of: { readonly [kind: string]: string }): string {
  const kinds = Object.keys(of)
  return kinds.length === 3 ? 'all' : kinds.map((kind) => (kind === 'agent' ? kind : code(kind))).join(', ')
}

function leftOut({ of = {}, required, leftOut: words, default: value }: Rows[string]): string {
  const needed = Object.keys(of).filter((kind) => of[kind] === 'must')
  const always = required || (needed.length > 0 && needed.length === Object.keys(of).length)
  const kinds = needed.map((kind) => (kind === 'agent' ? kind : code(kind))).join(' and ')
  const refused = always ? ['required'] : needed.length > 0 ? [`required for ${kinds}`] : []
  // an empty list, object or string is no default to mention
  const plain =
    value === undefined || value === '' || typeof value === 'object'
      ? []
      : [code(JSON.stringify(value).replaceAll('"', "'"))]
  return [...(words === undefined ? plain : [words]), ...refused].join('; ')
}

function code(text: string): string {
  return `\`${text}\``
}

if (import.meta.main) writeFileSync(page, withOptionTables(readFileSync(page, 'utf8')))
