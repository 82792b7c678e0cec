// A report of what each process did, computed from the journals alone.
import { taskOf } from './progress.ts'
import type { Entry } from 'reprise/journal'

export interface Row {
  readonly process: string
  readonly task: string
  readonly what: string
  readonly calls: number
  readonly spent: number
  readonly saved: number
}

type Reply = Extract<Entry, { type: 'model.replied' }>

/**
 * Returns a row for each task of each process, except tasks that the process did not reach. `names`: the names of the
 * processes, in the order in which they worked on the run.
 */
export function account(entries: readonly Entry[], names: readonly string[]): Row[] {
  const [created] = entries
  if (created?.type !== 'run.created') return []
  const starts = [0, ...entries.flatMap((entry, index) => (entry.type === 'run.resumed' ? [index] : []))]
  return starts.flatMap((start, life) => {
    const before = entries.slice(0, start)
    const now = entries.slice(start, starts[life + 1])
    return created.tasks.flatMap(({ name }) => rowOf(names[life] ?? `life ${life + 1}`, name, before, now) ?? [])
  })
}

export function tokensOf(replies: readonly Reply[]): number {
  return replies.reduce((sum, { usage }) => sum + usage.input + usage.output, 0)
}

export function repliesIn(entries: readonly Entry[]): Reply[] {
  return entries.filter((entry) => entry.type === 'model.replied')
}

export function table(rows: readonly Row[]): string {
  const total = (key: 'calls' | 'spent' | 'saved'): number => rows.reduce((sum, row) => sum + row[key], 0)
  const last = { calls: total('calls'), spent: total('spent'), saved: total('saved') }
  const lines = [
    line('', '', '', 'model', 'tokens', 'tokens'),
    line('process', 'task', 'what happened', 'calls', 'spent', 'saved'),
    '─'.repeat(74),
    ...rows.map((row, index) => {
      const process = rows[index - 1]?.process === row.process ? '' : row.process
      return line(process, row.task, row.what, `${row.calls}`, `${row.spent}`, `${row.saved}`)
    }),
    '─'.repeat(74),
    line('total', '', '', `${last.calls}`, `${last.spent}`, `${last.saved}`),
  ]
  return lines.map((text) => `   ${text}`).join('\n')
}

function rowOf(process: string, task: string, before: readonly Entry[], now: readonly Entry[]): Row | undefined {
  const mine = (entry: Entry): boolean => taskOf(entry.path) === task
  const [earlier, later] = [before.filter(mine), now.filter(mine)]
  const [old, fresh] = [repliesIn(earlier), repliesIn(later)]
  const row = (what: string, saved: number): Row => ({
    process,
    task,
    what,
    calls: fresh.length,
    spent: tokensOf(fresh),
    saved,
  })
  const inherited = later.find((entry) => entry.type === 'task.inherited')
  if (inherited?.output) return row('inherited', inherited.output.usage.input + inherited.output.usage.output)
  if (earlier.some((entry) => entry.type === 'task.completed')) return row('restored', tokensOf(old))
  if (later.length === 0) return undefined
  const ended = later.some((entry) => entry.type === 'task.completed')
  if (old.length > 0) return row(`${old.length} replies restored, rest executed`, tokensOf(old))
  return row(ended ? 'executed' : 'executed, cut off by the kill', 0)
}

function line(process: string, task: string, what: string, ...numbers: readonly string[]): string {
  return `${process.padEnd(10)}${task.padEnd(12)}${what.padEnd(34)}${numbers.map((text, index) => text.padStart(index === 0 ? 5 : 7)).join('')}`.slice(
    0,
    78,
  )
}
