// `reprise check`: what the loaded code would do with every unfinished run. A deployment decides by its exit code.
import type { Crew } from '../../crew/crew.ts'
import type { CheckOutcome, RunCheck } from '../../crew/verbs/check.ts'
import { openCrewStore } from '../../crew/open-crew.ts'
import { allRows } from '../../read/all-rows.ts'
import { isBacktest } from '../../read/backtest-name.ts'
import { isScheduleCrew } from '../../read/schedule-name.ts'
import { moveOf, readSummary } from '../../read/row-summary.ts'
import { isEnded } from '../../journal/state/state.ts'
import { exitCodes } from '../exit-codes.ts'
import { loadServed } from '../find/load-crew.ts'
import type { Command, Invocation } from '../command.ts'
import { dollars, plural } from '../../text/words.ts'
import { printTable, type Column } from '../output/print-table.ts'
import type { Format } from '../output/terminal.ts'

const formats: { readonly [outcome in CheckOutcome]?: Format } = { orphaned: 'red', refused: 'red', stale: 'yellow' }

export const checkCommand: Command = {
  declare: (command) =>
    command.argument('[file...]', 'the modules that export the crews (default: the file that run loads)'),
  examples: ['reprise check claims.ts letters.ts'],
  action: check,
}

async function check({ args, options, terminal, commands }: Invocation): Promise<number> {
  const crews = await loadServed(args, options.store)
  const found: RunCheck[] = []
  let unchecked: ReadonlyMap<string, number>
  try {
    for (const crew of crews) for await (const checked of crew.check()) found.push(checked)
    unchecked = await countUnchecked(crews)
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
  for (const [crew, count] of unchecked)
    terminal.err.line(
      `not checked: ${plural(count, 'unfinished run')} of ${crew}, a crew that these modules do not export`,
    )
  const [first] = stranded
  if (first?.outcome === 'orphaned') {
    const words = 'if tasks were renamed, declare their earlier names with the option `was`, or decide for each run'
    const plan = commands.advice({
      type: 'command',
      to: 'print the plan of the first one',
      words: ['plan', '--of', 'resume', '--run', first.runId],
      takes: 'crew',
    })
    terminal.err.line(`${words}; ${plan}`)
  }
  return stranded.length > 0 ? exitCodes.failed : exitCodes.done
}

/** Counts unfinished runs of other crews in the same stores, by crew: a renamed crew appears under its old name. */
async function countUnchecked(crews: readonly Crew[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const place of new Set(crews.map(({ store }) => store))) {
    const store = await openCrewStore(place)
    try {
      for await (const row of allRows(store, { roots: true })) {
        const { crew, status } = row
        const isOwn = crews.some(({ name }) => name === crew)
        if (isOwn || isBacktest(crew) || isScheduleCrew(crew) || isEnded(status) || moveOf(readSummary(row))) continue
        counts.set(crew, (counts.get(crew) ?? 0) + 1)
      }
    } finally {
      if (typeof place !== 'object') await store.close()
    }
  }
  return counts
}

const columns: readonly Column<RunCheck>[] = [
  { title: 'run', value: ({ runId }) => runId, shrinkTo: 20 },
  { title: 'status', value: ({ status }) => status },
  { title: 'outcome', value: ({ outcome }) => outcome, format: ({ outcome }) => formats[outcome] },
  { title: 'cost', align: 'right', value: ({ estimate }) => costWords(estimate) },
  { title: 'why', value: ({ reasons }) => reasons.join('; '), shrinkTo: 30 },
]

/** The expected cost of the remaining tasks. */
function costWords(estimate: RunCheck['estimate']): string {
  if (!estimate) return ''
  if (estimate.usage === undefined) return 'unknown'
  return estimate.cost === undefined ? 'unknown' : dollars(estimate.cost)
}
