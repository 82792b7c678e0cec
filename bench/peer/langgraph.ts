// LangGraph.js with its own savers. It isn't a dependency of Reprise: it is installed into this folder, from its own
// lockfile, when a bench first needs it, and its types are declared here.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { postgresSavers, sqliteSavers, type OpenSaverFor } from './savers.ts'

export interface PeerGraph {
  readonly name: string
  /** What a commit waits for, such as a sync. */
  readonly how: string
  readonly target?: { readonly least: number }
  /** Executes one run, on its own thread id. */
  run(): Promise<void>
  close(): void
}

/** Graphs whose checkpoints are in a folder or, with a URL, on a server. None if the packages are missing. */
export async function openPeer(place: string, nodes: number): Promise<PeerGraph[]> {
  try {
    if (!installed()) install()
    const graphs = (await import(graphPackage)) as Graphs
    const plans = place.startsWith('postgres:')
      ? await onPostgres(graphs, place, nodes)
      : await onSqlite(graphs, place, nodes)
    return await Promise.all(plans.map((plan) => open(plan, nodes)))
  } catch (error) {
    console.error(`LangGraph.js is missing, and its figures are left out: ${(error as Error).message}`)
    return []
  }
}

interface Plan {
  readonly name: string
  readonly graph: Graph
  readonly saverFor: OpenSaverFor
  readonly config?: object
  readonly target?: PeerGraph['target']
}

/** A chain of nodes and a loop of one node, each with the saver's own setting and with ours. */
async function onSqlite(graphs: Graphs, folder: string, nodes: number): Promise<Plan[]> {
  const { normal, full } = await sqliteSavers(folder)
  return [
    // corresponds to a crew with as many tasks
    { name: 'LangGraph.js, a graph of nodes', graph: chain(graphs, nodes), saverFor: normal },
    {
      name: 'LangGraph.js, a graph of nodes, synced',
      graph: chain(graphs, nodes),
      saverFor: full,
      target: { least: 2.5 },
    },
    { name: 'LangGraph.js, a node in a loop', graph: loop(graphs, nodes), saverFor: normal, target: { least: 1 } },
    { name: 'LangGraph.js, a node in a loop, synced', graph: loop(graphs, nodes), saverFor: full },
  ]
}

/**
 * The same two graphs. By default, a node does not wait for the checkpoint of the one before; with `sync` it does, as
 * in Reprise.
 */
async function onPostgres(graphs: Graphs, url: string, nodes: number): Promise<Plan[]> {
  const saverFor = await postgresSavers(url)
  const sync = { durability: 'sync' }
  return [
    { name: 'LangGraph.js, a graph of nodes', graph: chain(graphs, nodes), saverFor },
    { name: 'LangGraph.js, a graph of nodes, durability sync', graph: chain(graphs, nodes), saverFor, config: sync },
    { name: 'LangGraph.js, a node in a loop', graph: loop(graphs, nodes), saverFor },
    { name: 'LangGraph.js, a node in a loop, durability sync', graph: loop(graphs, nodes), saverFor, config: sync },
  ]
}

async function open({ name, graph, saverFor, config, target }: Plan, nodes: number): Promise<PeerGraph> {
  const { saver, how, check, close } = await saverFor(name)
  const compiled = graph.compile({ checkpointer: saver })
  let runs = 0
  return {
    name,
    how,
    ...(target && { target }),
    async run() {
      const thread = { configurable: { thread_id: `run-${runs++}` }, recursionLimit: nodes + 1 }
      const { count } = await compiled.invoke({ count: 0 }, { ...thread, ...config })
      if (count !== nodes) throw new Error(`${name} counted ${count} nodes, not ${nodes}`)
      check()
    },
    close,
  }
}

// not a literal: the package is seldom installed, and then has no types
const graphPackage: string = '@langchain/langgraph'

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

/** Whether the versions in package.json are installed. */
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

/** Installs without scripts: the only package with native code has it prebuilt. */
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

/** The part of the packages that is used here. */
interface State {
  readonly count: number
}

interface Graph {
  addNode(name: string, work: (state: State) => State): Graph
  addEdge(from: string, to: string): Graph
  addConditionalEdges(from: string, choose: (state: State) => string, to: readonly string[]): Graph
  compile(options: { checkpointer: object }): { invoke(input: State, config: object): Promise<State> }
}

interface Graphs {
  readonly StateGraph: new (state: unknown) => Graph
  readonly Annotation: { (): unknown; Root(state: object): unknown }
  readonly START: string
  readonly END: string
}
