// Where on the timeline another process took a run over: that a crew was killed and went on is what people look for.
import type { Life } from '../../timeline/timeline.ts'

export interface Takeover {
  readonly at: number
  /** Whether the process before was killed, or lost its machine; not stopped, and not waiting for somebody. */
  readonly gone: boolean
  readonly words: string
}

/** More would be a pattern, and no marks. */
const most = 40

/** Not those between slices: there, nothing had happened. */
export function takeoversOf(lives: readonly Life[]): readonly Takeover[] {
  const found = lives.flatMap((life, index): Takeover[] => {
    const before = lives[index - 1]
    if (!before || before.end === 'yielded') return []
    const gone = before.end === 'gone'
    const who = life.holder
      ? `process ${life.holder.pid}${life.holder.name ? ` (${life.holder.name})` : ''}`
      : 'a process'
    return [{ at: Date.parse(life.from), gone, words: `${who} continued: ${reasonWords(before)}` }]
  })
  return found.slice(-most)
}

function reasonWords({ end, holder }: Life): string {
  const who = holder ? `process ${holder.pid}` : 'the one before'
  if (end === 'gone') return `${who} was gone`
  return end === 'failed' ? 'the run had failed' : 'the run was suspended'
}
