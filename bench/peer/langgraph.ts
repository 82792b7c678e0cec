// LangGraph.js with its SQLite saver, as its users have it. It is no dependency of Reprise: it is installed into this folder when
// a bench first needs it, from a lockfile of its own, and its types are spelled here, so that nothing else needs it.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface PeerGraph {
  readonly name: string
  /** SQLite's word for what a commit waits for. */
  readonly synced: 'normal' | 'full'
  readonly target?: { readonly least: number }
  /** One run, on a thread of its own. */
  run(): Promise<void>
  close(): void
}

/** A chain of nodes and a loop of one, with the saver's own setting and with what we have. None without the packages. */
export async function openPeer(folder: string, nodes: number): Promise<PeerGraph[]> {
  try {
    if (!installed()) install()
    const names = ['@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite']
    const [graphs, savers] = (await Promise.all(names.map((name) => import(name)))) as [Graphs, Savers]
    return [
      // a crew of as many tasks is this one
      open('LangGraph.js, a graph of nodes', chain(graphs, nodes), 'normal', { least: 2.5 }),
      open('LangGraph.js, a graph of nodes, synced', chain(graphs, nodes), 'full'),
      open('LangGraph.js, a node in a loop', loop(graphs, nodes), 'normal'),
      open('LangGraph.js, a node in a loop, synced', loop(graphs, nodes), 'full'),
    ]

    function open(name: string, graph: Graph, synced: PeerGraph['synced'], target?: PeerGraph['target']): PeerGraph {
      const saver = savers.SqliteSaver.fromConnString(join(folder, `${name}.db`))
      // what the saver leaves it at is normal, which waits for the disk only at a checkpoint of the log
      if (synced === 'full') saver.db.pragma('synchronous = full')
      const compiled = graph.compile({ checkpointer: saver })
      let runs = 0
      return {
        name,
        synced,
        ...(target && { target }),
        async run() {
          const config = { configurable: { thread_id: `run-${runs++}` }, recursionLimit: nodes + 1 }
          const { count } = await compiled.invoke({ count: 0 }, config)
          if (count !== nodes) throw new Error(`${name} counted ${count} nodes, not ${nodes}`)
          const now = saver.db.pragma('synchronous', { simple: true })
          if (now !== (synced === 'full' ? 2 : 1)) throw new Error(`${name} ran with synchronous = ${String(now)}`)
        },
        close: () => saver.db.close(),
      }
    }
  } catch (error) {
    console.error(`LangGraph.js is missing, and its figures are left out: ${(error as Error).message}`)
    return []
  }
}

function chain({ StateGraph, Annotation, START, END }: Graphs, nodes: number): Graph {
  const graph = new StateGraph(Annotation.Root({ count: Annotation() }))
  const names = Array.from({ length: nodes }, (_, index) => `step-${index}`)
  for (const name of names) graph.addNode(name, ({ count }) => ({ count: count + 1 }))
  const stops = [START, ...names, END]
  for (const [index, name] of names.entries()) graph.addEdge(stops[index] ?? START, name)
  return graph.addEdge(names.at(-1) ?? START, END)
}

function loop({ StateGraph, Annotation, START, END }: Graphs, nodes: number): Graph {
  return new StateGraph(Annotation.Root({ count: Annotation() }))
    .addNode('step', ({ count }) => ({ count: count + 1 }))
    .addEdge(START, 'step')
    .addConditionalEdges('step', ({ count }) => (count < nodes ? 'step' : END), ['step', END])
}

/** Whether the very versions of package.json are here. */
function installed(): boolean {
  const { dependencies, overrides } = manifest('.')
  return Object.entries({ ...dependencies, ...overrides }).every(([name, version]) => {
    try {
      return manifest(join('node_modules', name)).version === version
    } catch {
      return false
    }
  })
}

/** Without scripts: the one package with native code brings it built. */
function install(): void {
  console.error('installing LangGraph.js into bench/peer')
  const args = ['ci', '--prefix', import.meta.dirname, '--ignore-scripts', '--no-audit', '--no-fund']
  // what npm says about it comes first
  const { status } = spawnSync('npm', args, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`npm ${args.join(' ')} failed`)
}

interface Manifest {
  readonly version: string
  readonly dependencies: { readonly [name: string]: string }
  readonly overrides: { readonly [name: string]: string }
}

function manifest(folder: string): Manifest {
  return JSON.parse(readFileSync(join(import.meta.dirname, folder, 'package.json'), 'utf8')) as Manifest
}

/** As much of the packages as is used here. */
interface State {
  readonly count: number
}

interface Graph {
  addNode(name: string, work: (state: State) => State): Graph
  addEdge(from: string, to: string): Graph
  addConditionalEdges(from: string, choose: (state: State) => string, to: readonly string[]): Graph
  compile(options: { checkpointer: Saver }): { invoke(input: State, config: object): Promise<State> }
}

interface Graphs {
  readonly StateGraph: new (state: unknown) => Graph
  readonly Annotation: { (): unknown; Root(state: object): unknown }
  readonly START: string
  readonly END: string
}

interface Saver {
  readonly db: { pragma(text: string, options?: { simple: true }): unknown; close(): void }
}

interface Savers {
  readonly SqliteSaver: { fromConnString(path: string): Saver }
}
