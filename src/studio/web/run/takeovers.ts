// Where on the timeline another process took a run over, or the last one died: that a crew was killed and continued is
// what people look for.
import type { Life, StepSpan, Timeline } from '../../../runs/timeline.ts'

export interface Takeover {
  readonly at: number
  /** Whether the process before was killed, or lost its machine; not stopped, and not waiting for somebody. */
  readonly gone: boolean
  readonly words: string
}

/** More would be a pattern, and no marks. */
const takeoverLimit = 40

/** Without those between slices: there, nothing had happened. `died`: the last entry of an abandoned run. */
export function findTakeovers(lives: readonly Life[], died?: string): readonly Takeover[] {
  const found = lives.flatMap((life, index): Takeover[] => {
    const before = lives[index - 1]
    if (!before || before.end === 'yielded') return []
    const gone = before.end === 'gone'
    const who = processWords(life) ?? 'a process'
    return [{ at: Date.parse(life.from), gone, words: `${who} continued: ${reasonWords(before)}` }]
  })
  const last = lives.at(-1)
  if (died !== undefined && last)
    found.push({
      at: Date.parse(died),
      gone: true,
      words: `${processWords(last) ?? 'the process'} recorded nothing after this`,
    })
  return found.slice(-takeoverLimit)
}

/** Where an abandoned run was when its process died: the last that was recorded in it or in a run of its crews. */
export interface LastRecorded {
  readonly run: string
  readonly at: string
  /** A step, or an attempt that has none; undefined before the first task. */
  readonly path: string | undefined
  /** Calls that were under way, and may have had their effect. */
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

/** `process 4711 (worker-a)`; undefined when it is not known. */
export function processWords({ holder }: Pick<Life, 'holder'>): string | undefined {
  return holder && `process ${holder.pid}${holder.name === undefined ? '' : ` (${holder.name})`}`
}

function reasonWords({ end, holder }: Life): string {
  const who = holder ? `process ${holder.pid}` : 'the one before'
  if (end === 'gone') return `${who} was gone`
  return end === 'failed' ? 'the run had failed' : 'the run was suspended'
}
