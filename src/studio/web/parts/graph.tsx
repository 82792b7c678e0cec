// Tasks as a graph: linked boxes, and edges for their dependencies.
import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Link } from '../routing/router.tsx'
import { layoutGraph, type GraphTask, type Spot } from './graph-layout.ts'

const width = 188
const height = 68
const gapX = 36
const gapY = 18

interface GraphProps {
  readonly tasks: readonly GraphTask[]
  readonly to: (name: string) => string
  /** The tone of a task's bar. */
  readonly tone?: (name: string) => string
  readonly current?: string | undefined
  readonly children: (name: string) => ComponentChildren
}

export function Graph({ tasks, to, tone, current, children }: GraphProps): JSX.Element {
  const { nodes, edges, implied, columns, rows } = layoutGraph(tasks)
  const shown = implied.filter(({ from, to: target }) => from === current || target === current)
  const size = { width: columns * (width + gapX) - gapX, height: rows * (height + gapY) - gapY }
  const scroll = useRef<HTMLDivElement>(null)
  useEffect(() => {
    // the details, which open beside the graph, may cover the current task
    scroll.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' })
  }, [current])
  return (
    <>
      <div ref={scroll} class="graph-scroll" tabIndex={0} role="group" aria-label="Tasks and their dependencies">
        <div class="graph" style={{ width: `${size.width}px`, height: `${size.height}px` }}>
          <svg width={size.width} height={size.height} aria-hidden="true">
            {edges.map(({ from, to: target, spots }) => (
              <Edge key={`${from} ${target}`} spots={spots} />
            ))}
            {shown.map(({ from, to: target }) => (
              <path
                key={`${from} ${target}`}
                class="edge is-implied"
                d={impliedPath(nodes.get(from), nodes.get(target))}
              />
            ))}
          </svg>
          {[...nodes].map(([name, spot]) => (
            <Link
              key={name}
              to={to(name)}
              replace
              class="graph-node"
              aria-current={current === name ? 'true' : undefined}
              style={{
                left: `${spotLeft(spot)}px`,
                top: `${spotTop(spot)}px`,
                width: `${width}px`,
                height: `${height}px`,
                ...(tone ? { '--tone': `var(--bar-${tone(name)})` } : {}),
              }}
            >
              {children(name)}
            </Link>
          ))}
        </div>
      </div>
      {implied.length > 0 && (
        <p class="hint">Dependencies that other lines imply are dashed, and drawn only for the selected task.</p>
      )}
    </>
  )
}

/** A curve that passes below the boxes in between. */
function impliedPath(from: Spot | undefined, to: Spot | undefined): string {
  if (!from || !to) return ''
  const [x, y] = [spotLeft(from) + width, spotTop(from) + height / 2]
  const [endX, endY] = [spotLeft(to), spotTop(to) + height / 2]
  return `M${x} ${y}C${x + gapX} ${y + height} ${endX - gapX} ${endY + height} ${endX} ${endY}`
}

function Edge({ spots }: { readonly spots: readonly Spot[] }): JSX.Element {
  const last = spots.length - 1
  let path = ''
  let [x, y] = [0, 0]
  for (const [index, spot] of spots.entries()) {
    const middle = spotTop(spot) + height / 2
    if (index === 0) [x, y, path] = [spotLeft(spot) + width, middle, `M${spotLeft(spot) + width} ${middle}`]
    else {
      const end = spotLeft(spot) - (index === last ? 5 : 0)
      path += `C${x + gapX / 2} ${y} ${end - gapX / 2} ${middle} ${end} ${middle}`
      // straight through a column where the edge has no box
      if (index < last) path += `H${spotLeft(spot) + width}`
      ;[x, y] = [index < last ? spotLeft(spot) + width : end, middle]
    }
  }
  return (
    <>
      <path class="edge" d={path} />
      <path class="edge-head" d={`M${x - 4} ${y - 4}l5 4-5 4z`} />
    </>
  )
}

function spotLeft({ column }: Spot): number {
  return column * (width + gapX)
}

function spotTop({ row }: Spot): number {
  return row * (height + gapY)
}
