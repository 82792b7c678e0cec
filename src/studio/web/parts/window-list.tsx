// A long list of rows of one height, of which only those in sight are in the document. The page itself scrolls, so that
// a phone's browser bars, the browser's own keys and its memory of the position work as everywhere.
import type { JSX } from 'preact'
import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Rows above and below those in sight, so that a quick scroll doesn't show gaps. */
const spare = 12

interface WindowListProps<Row> {
  readonly rows: readonly Row[]
  readonly rowHeight: number
  readonly keyOf: (row: Row) => string
  readonly render: (row: Row, index: number) => JSX.Element
  /** The row that is kept in sight when it changes. */
  readonly current?: number | undefined
  readonly label: string
  /** Called when the end comes into sight. */
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
      const first = Math.max(0, Math.floor(-top / rowHeight) - spare)
      const last = Math.min(count, Math.ceil((innerHeight - top) / rowHeight) + spare)
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
