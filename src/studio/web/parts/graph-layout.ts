// Lays out the tasks of a crew as a graph: in columns by dependency, without edges that other edges imply. An edge that
// passes a column takes up a row there, so that it doesn't cross the boxes. Pure functions.

export interface GraphTask {
  readonly name: string
  /** The tasks whose outputs it receives. */
  readonly context: readonly string[]
}

/** The place of a box, or of an edge that passes the column. */
export interface Spot {
  readonly column: number
  readonly row: number
}

export interface GraphLayout {
  readonly nodes: ReadonlyMap<string, Spot>
  /** Each edge with the spots that it connects. The first and last spot are boxes. */
  readonly edges: readonly (Edge & { readonly spots: readonly Spot[] })[]
  /** Direct dependencies that a path over other tasks implies. They aren't among `edges`. */
  readonly implied: readonly Edge[]
  readonly columns: number
  readonly rows: number
}

interface Edge {
  readonly from: string
  readonly to: string
}

interface Item extends Spot {
  row: number
  readonly before: Item[]
}

export function layoutGraph(tasks: readonly GraphTask[]): GraphLayout {
  const columns: Item[][] = []
  const nodes = new Map<string, Item>()
  const add = (column: number, before: Item[]): Item => {
    const item = { column, row: 0, before }
    ;(columns[column] ??= []).push(item)
    return item
  }
  for (const { name, context } of tasks) {
    const before = context.flatMap((from) => nodes.get(from)?.column ?? [])
    nodes.set(name, add(before.length === 0 ? 0 : Math.max(...before) + 1, []))
  }
  const { needed, implied } = findEdges(tasks)
  const edges = needed.map(({ from, to }) => {
    const [begin, end] = [nodes.get(from) as Item, nodes.get(to) as Item]
    const spots = [begin]
    for (let column = begin.column + 1; column < end.column; column++) spots.push(add(column, [spots.at(-1) as Item]))
    end.before.push(spots.at(-1) as Item)
    return { from, to, spots: [...spots, end] }
  })
  for (const column of columns) placeColumn(column)
  const rows = Math.max(1, ...columns.flat().map(({ row }) => row + 1))
  return { nodes, edges, implied, columns: columns.length, rows }
}

/** Places each item as close as possible to its predecessors, in their order. */
function placeColumn(column: Item[]): void {
  const wanted = new Map(column.map((item, index) => [item, item.before.length === 0 ? index : middle(item.before)]))
  let next = 0
  for (const item of column.toSorted((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0))) {
    item.row = Math.max(next, Math.round(wanted.get(item) ?? 0))
    next = item.row + 1
  }
}

function middle(items: readonly Item[]): number {
  return items.reduce((sum, { row }) => sum + row, 0) / items.length
}

function findEdges(tasks: readonly GraphTask[]): { readonly needed: Edge[]; readonly implied: Edge[] } {
  const reach = new Map<string, Set<string>>()
  const needed: Edge[] = []
  const implied: Edge[] = []
  for (const { name, context } of tasks) {
    const direct = context.filter((from) => reach.has(from))
    reach.set(name, new Set(direct.flatMap((from) => [from, ...(reach.get(from) ?? [])])))
    for (const from of direct) {
      const isImplied = direct.some((other) => other !== from && reach.get(other)?.has(from))
      ;(isImplied ? implied : needed).push({ from, to: name })
    }
  }
  return { needed, implied }
}
