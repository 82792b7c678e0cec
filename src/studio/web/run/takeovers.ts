// Marks on the timeline: where another process continued the run, and where the last process died.
import type { Life, StepSpan, Timeline } from '../../../runs/timeline.ts'

export interface Takeover {
  readonly at: number
  /** Whether a process died: the one before the takeover, or the last one. */
  readonly gone: boolean
  readonly words: string
}

/** More marks would be unreadable. */
const takeoverLimit = 40

/**
 * Returns the marks, except where a process yielded the run at the end of its time slice. `diedAt`: when the last
 * process died, as far as the journal tells.
 */
export function findTakeovers(lives: readonly Life[], diedAt?: string): readonly Takeover[] {
  const found = lives.flatMap((life, index): Takeover[] => {
    const before = lives[index - 1]
    if (!before || before.end === 'yielded') return []
    const gone = before.end === 'gone'
    const process = processWords(life) ?? 'a process'
    return [{ at: Date.parse(life.from), gone, words: `${process} continued: ${reasonWords(before)}` }]
  })
  const last = lives.at(-1)
  if (diedAt !== undefined && last)
    found.push({
      at: Date.parse(diedAt),
      gone: true,
      words: `${processWords(last) ?? 'the process'} recorded nothing after this`,
    })
  return found.slice(-takeoverLimit)
}

/** Where a run was when its process died: at the last entry of the run or a child run. */
export interface LastRecorded {
  readonly run: string
  readonly at: string
  /** The path of a step, or of an attempt without steps. Undefined before the first task. */
  readonly path: string | undefined
  /** Interrupted calls, which may have had their effect. */
  readonly open: readonly StepSpan[]
}

export function lastRecorded(timelines: readonly Timeline[]): LastRecorded | undefined {
  const last = timelines.toSorted((a, b) => (a.updatedAt ?? '').localeCompare(b.updatedAt ?? '')).at(-1)
  if (last?.updatedAt === undefined) return undefined
  const spans = last.attempts.flatMap((attempt) => [attempt, ...attempt.steps])
  const latest = spans.toSorted((a, b) => (a.to ?? a.from).localeCompare(b.to ?? b.from)).at(-1)
  const open = last.attempts.flatMap(({ steps }) => steps).filter((step) => step.status === 'open')
  return { run: last.runId, at: last.updatedAt, path: latest?.path, open }
}

/** `process 4711 (worker-a)` */
export function processWords({ holder }: Pick<Life, 'holder'>): string | undefined {
  return holder && `process ${holder.pid}${holder.name === undefined ? '' : ` (${holder.name})`}`
}

function reasonWords({ end, holder }: Life): string {
  if (end === 'gone') return `${holder ? `process ${holder.pid}` : 'the previous process'} was gone`
  return end === 'failed' ? 'the run had failed' : 'the run was suspended'
}
