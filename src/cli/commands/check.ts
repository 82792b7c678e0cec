// `reprise check`: what the loaded code would do with every unfinished run. A deployment decides by its exit code.
import { Crew } from '../../crew/crew.ts'
import type { CheckOutcome, RunCheck } from '../../crew/verbs/check.ts'
import { exitCodes } from '../exit-codes.ts'
import { loadServed } from '../find/load-crew.ts'
import type { Command, Invocation } from '../command.ts'
import { dollars, plural } from '../output/words.ts'
import { printTable, type Column } from '../output/print-table.ts'
import type { Format } from '../output/terminal.ts'

const formats: { readonly [outcome in CheckOutcome]?: Format } = { orphaned: 'red', refused: 'red', stale: 'yellow' }

export const checkCommand: Command = {
  declare: (command) => command.argument('[file...]', 'the modules that export the crews (default: as for run)'),
  examples: ['reprise check claims.ts letters.ts'],
  action: check,
}

async function check({ args, options, terminal, commands }: Invocation): Promise<number> {
  const { store } = options
  const loaded = await loadServed(args.filter((path) => path !== undefined))
  const crews = store === undefined ? loaded : loaded.map((crew): Crew => crew.with({ store }))
  const found: RunCheck[] = []
  try {
    for (const crew of crews) for await (const checked of crew.check()) found.push(checked)
  } finally {
    for (const crew of crews) await crew.close()
  }
  const stranded = found.filter(({ outcome }) => outcome === 'orphaned' || outcome === 'refused')
  if (terminal.json) for (const checked of found) terminal.record(checked)
  else if (found.length > 0) printTable(terminal.out, columns, found)
  const names = crews.map(({ name }) => name).join(', ')
  terminal.err.line(
    found.length === 0
      ? `no unfinished runs of ${names}`
      : stranded.length === 0
        ? `${plural(found.length, 'unfinished run')} of ${names}: all of them continue with this code`
        : `${stranded.length} of ${plural(found.length, 'unfinished run')} would be stranded by this code`,
  )
  const [first] = stranded
  if (first?.outcome === 'orphaned') {
    const words = 'give the tasks that were renamed their earlier names (was), or decide for each run'
    const plan = commands.advice({
      type: 'command',
      to: 'see what it would do',
      words: ['plan', '--of', 'resume', '--run', first.runId],
      takes: 'crew',
    })
    terminal.err.line(`${words}; ${plan}`)
  }
  return stranded.length > 0 ? exitCodes.failed : exitCodes.done
}

const columns: readonly Column<RunCheck>[] = [
  { title: 'run', value: ({ runId }) => runId, shrinkTo: 20 },
  { title: 'status', value: ({ status }) => status },
  { title: 'outcome', value: ({ outcome }) => outcome, format: ({ outcome }) => formats[outcome] },
  { title: 'cost', align: 'right', value: ({ estimate }) => costWords(estimate) },
  { title: 'why', value: ({ reasons }) => reasons.join('; '), shrinkTo: 30 },
]

/** The cost of the tasks that are left. */
function costWords(estimate: RunCheck['estimate']): string {
  if (!estimate) return ''
  if (estimate.usage === undefined) return 'unknown'
  return estimate.cost === undefined ? 'unknown' : dollars(estimate.cost)
}
