// Maps times to positions between 0 and 1. A run may wait for days and work for seconds, so long idle gaps are
// shortened and marked.

export interface Stretch {
  readonly from: number
  readonly to: number
}

export interface TimeScale {
  /** The position of a time, between 0 and 1. */
  at(time: number): number
  /** The shortened gaps. */
  readonly gaps: readonly Stretch[]
  readonly from: number
  readonly to: number
}

/** The share of the width that one gap takes. */
const gapShare = 0.035
/** The share of the width that all gaps take at most. */
const gapsShare = 0.3

/** Builds the scale. `busy`: the stretches with activity, in any order. */
export function timeScale(busy: readonly Stretch[], from: number, to: number): TimeScale {
  const end = Math.max(to, from + 1)
  const active = joined(busy, from, end)
  const worked = Math.max(
    1,
    active.reduce((sum, stretch) => sum + (stretch.to - stretch.from), 0),
  )
  // short pauses are informative, but long ones would squeeze the work
  const limit = Math.max(2_000, worked * 0.25)
  const gaps = between(active, from, end).filter((gap) => gap.to - gap.from > limit)
  if (gaps.length === 0) return linear(from, end)
  const share = Math.min(gapShare, gapsShare / gaps.length)
  const gapTime = gaps.reduce((sum, gap) => sum + (gap.to - gap.from), 0)
  const perMs = (1 - share * gaps.length) / Math.max(1, end - from - gapTime)
  const points: { time: number; place: number }[] = [{ time: from, place: 0 }]
  for (const gap of gaps) {
    const last = points.at(-1) as { time: number; place: number }
    const begin = last.place + (gap.from - last.time) * perMs
    points.push({ time: gap.from, place: begin }, { time: gap.to, place: begin + share })
  }
  points.push({ time: end, place: 1 })
  return { from, to: end, gaps, at: (time) => placeAt(points, time) }
}

/** The CSS position of a mark. A mark at the very end would be cut in half. */
export function markPlace(scale: TimeScale, at: number): string {
  return `min(${scale.at(at) * 100}%, 100% - 2px)`
}

function linear(from: number, to: number): TimeScale {
  return { from, to, gaps: [], at: (time) => clamp((time - from) / (to - from)) }
}

function placeAt(points: readonly { readonly time: number; readonly place: number }[], time: number): number {
  let [low, high] = [0, points.length - 1]
  while (high - low > 1) {
    const middle = (low + high) >> 1
    if ((points[middle]?.time ?? 0) <= time) low = middle
    else high = middle
  }
  const [a, b] = [points[low], points[high]]
  if (!a || !b || b.time === a.time) return clamp(a?.place ?? 0)
  return clamp(a.place + ((time - a.time) / (b.time - a.time)) * (b.place - a.place))
}

function joined(stretches: readonly Stretch[], from: number, to: number): Stretch[] {
  const sorted = stretches
    .map((stretch) => ({ from: Math.max(from, stretch.from), to: Math.min(to, stretch.to) }))
    .filter((stretch) => stretch.to >= stretch.from)
    .toSorted((a, b) => a.from - b.from)
  const found: { from: number; to: number }[] = []
  for (const stretch of sorted) {
    const last = found.at(-1)
    if (last && stretch.from <= last.to) last.to = Math.max(last.to, stretch.to)
    else found.push({ ...stretch })
  }
  return found
}

function between(active: readonly Stretch[], from: number, to: number): Stretch[] {
  const gaps: Stretch[] = []
  let last = from
  for (const stretch of active) {
    gaps.push({ from: last, to: stretch.from })
    last = stretch.to
  }
  return [...gaps, { from: last, to }]
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value))
}
