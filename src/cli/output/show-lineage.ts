// `reprise show --lineage`: the runs from which a run was forked, and the tree of the runs forked from it.
import { prefixLength } from '../../runs/find.ts'
import { readLineage, type DeletedRun, type Descendant, type Lineage, type RelatedRun } from '../../runs/lineage.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import { statusFormat } from './run-words.ts'
import { columns } from '../../text/plain-text.ts'
import type { Channel, Terminal } from './terminal.ts'
import { longTime } from '../../text/words.ts'

interface Row {
  /** The lines of the tree to the left of the run. */
  readonly branch: string
  readonly run: RelatedRun | DeletedRun
  readonly self: boolean
}

export async function showLineage(terminal: Terminal, store: Store, { run, crew }: RunRow): Promise<void> {
  const found = await readLineage(store, run)
  if (terminal.json) {
    terminal.record(found)
    return
  }
  terminal.err.line(`lineage of run ${run} of crew ${crew}`)
  const rows = lineageRows(found)
  const fits = fullWidth(rows, (id) => id) <= terminal.out.width
  const length = fits ? Infinity : await prefixLength(store, new Set(rows.map((row) => row.run.runId)))
  printTree(terminal.out, rows, (id) => id.slice(0, length))
  if (found.previous) terminal.out.line(`continues ${found.previous.runId}`)
  if (found.next) terminal.out.line(`continues as ${found.next.runId}`)
  if (found.cut) terminal.err.line('there are more related runs; to see them, show the lineage of one of these')
}

function lineageRows({ ancestors, run }: Lineage): Row[] {
  const above = ancestors.map((ancestor, depth) => ({ branch: branchAt(depth), run: ancestor, self: false }))
  const below = (node: Descendant, branch: string, inner: string, self: boolean): Row[] => [
    { branch, run: node, self },
    ...node.children.flatMap((child, index) => {
      const last = index === node.children.length - 1
      return below(child, inner + (last ? '└─ ' : '├─ '), inner + (last ? '   ' : '│  '), false)
    }),
  ]
  const depth = ancestors.length
  return [...above, ...below(run, branchAt(depth), ' '.repeat(3 * depth), true)]
}

/** An ancestor is shown with the one child that leads to the run. */
function branchAt(depth: number): string {
  return depth === 0 ? '' : `${' '.repeat(3 * (depth - 1))}└─ `
}

const statusWidth = 'completed'.length
const timeWidth = 'YYYY-MM-DD hh:mm:ss'.length

function fullWidth(rows: readonly Row[], shown: (id: string) => string): number {
  return headWidth(rows, shown) + 2 + statusWidth + 2 + timeWidth
}

function headWidth(rows: readonly Row[], shown: (id: string) => string): number {
  return Math.max(...rows.map(({ branch, run }) => columns(branch + shown(run.runId))))
}

function printTree(channel: Channel, rows: readonly Row[], shown: (id: string) => string): void {
  const width = headWidth(rows, shown)
  for (const { branch, run, self } of rows) {
    const id = shown(run.runId)
    const space = ' '.repeat(width - columns(branch + id) + 2)
    const head = [
      { text: branch, format: 'dim' as const },
      { text: id, format: self ? ('bold' as const) : undefined },
      space,
    ]
    if (run.deleted) channel.line(...head, { text: 'deleted', format: 'dim' })
    else {
      const { status, createdAt } = run
      channel.line(
        ...head,
        { text: status.padEnd(statusWidth), format: statusFormat(status) },
        `  ${longTime(createdAt)}`,
      )
    }
  }
}
