// A virtual list: rows of equal height, of which only the visible ones are in the document. The page itself scrolls, so
// that browser bars on phones and scroll keys work as usual.
import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState, useEffect } from 'preact/hooks'

/** Extra rows above and below, so that fast scrolling shows no gaps. */
const overscan = 12

interface WindowListProps<Row> {
  readonly rows: readonly Row[]
  readonly rowHeight: number
  readonly keyOf: (row: Row) => string
  readonly render: (row: Row, index: number) => JSX.Element
  /** The index of the current row. When it changes, the list scrolls to the row. */
  readonly current?: number | undefined
  readonly label: string
  /** Called when the last row becomes visible. */
  readonly onEnd?: (() => void) | undefined
}

export function WindowList<Row>(props: WindowListProps<Row>): JSX.Element {
  const { rows, rowHeight, keyOf, render, current, label, onEnd } = props
  const list = useRef<HTMLDivElement>(null)
  const [[from, to], setRange] = useState<readonly [number, number]>([0, 40])
  const count = rows.length

  useLayoutEffect(() => {
    const measure = (): void => {
      const top = list.current?.getBoundingClientRect().top ?? 0
      const first = Math.max(0, Math.floor(-top / rowHeight) - overscan)
      const last = Math.min(count, Math.ceil((innerHeight - top) / rowHeight) + overscan)
      setRange((before) => (before[0] === first && before[1] === last ? before : [first, last]))
      if (last >= count) onEnd?.()
    }
    measure()
    addEventListener('scroll', measure, { passive: true })
    addEventListener('resize', measure)
    return () => {
      removeEventListener('scroll', measure)
      removeEventListener('resize', measure)
    }
  }, [count, rowHeight, onEnd])

  useLayoutEffect(() => {
    if (current === undefined || !list.current) return
    const top = list.current.getBoundingClientRect().top + current * rowHeight
    const room = 72
    if (top < room) scrollBy(0, top - room)
    else if (top + rowHeight > innerHeight - room / 2) scrollBy(0, top + rowHeight - innerHeight + room / 2)
  }, [current, rowHeight])

  return (
    <div ref={list} class="window-list" role="list" aria-label={label} style={{ height: `${count * rowHeight}px` }}>
      {rows.slice(from, Math.max(from, to)).map((row, offset) => (
        <div
          key={keyOf(row)}
          class="window-row"
          role="listitem"
          aria-setsize={count}
          aria-posinset={from + offset + 1}
          style={{ height: `${rowHeight}px`, transform: `translateY(${(from + offset) * rowHeight}px)` }}
        >
          {render(row, from + offset)}
        </div>
      ))}
    </div>
  )
}

const narrowQuery = '(max-width: 820px)'

/** Whether the window is as narrow as on a phone, where rows need several lines. */
export function useNarrow(): boolean {
  const [isNarrow, setNarrow] = useState(() => matchMedia(narrowQuery).matches)
  useEffect(() => {
    const query = matchMedia(narrowQuery)
    const read = (): void => setNarrow(query.matches)
    query.addEventListener('change', read)
    return () => query.removeEventListener('change', read)
  }, [])
  return isNarrow
}
