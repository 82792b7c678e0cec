// The peer in its own process, so that the sides share neither a heap nor compiled code. It prints its graphs, then
// executes the named graph and prints the milliseconds.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { openPeer, type PeerGraph } from './langgraph.ts'

export interface RemoteGraph extends Pick<PeerGraph, 'name' | 'how' | 'target'> {
  /** The milliseconds of one run. */
  run(): Promise<number>
}

export interface Peer {
  readonly graphs: readonly RemoteGraph[]
  close(): void
}

/** Has no graphs if the packages are missing. */
export async function startPeer(place: string, nodes: number): Promise<Peer> {
  const child = fork(import.meta.filename, [place, String(nodes)])
  const [graphs] = (await once(child, 'message')) as [Omit<RemoteGraph, 'run'>[]]
  return {
    graphs: graphs.map((graph) => ({
      ...graph,
      async run() {
        child.send(graph.name)
        const [ms] = (await once(child, 'message')) as [number]
        return ms
      },
    })),
    close: () => child.disconnect(),
  }
}

if (process.send) {
  const [place = '', nodes = ''] = process.argv.slice(2)
  const graphs = await openPeer(place, Number(nodes))
  process.send(graphs.map(({ name, how, target }) => ({ name, how, target })))
  process.on('message', (name) => void execute(name as string))
  process.on('disconnect', () => graphs.forEach((graph) => graph.close()))

  async function execute(name: string): Promise<void> {
    const start = performance.now()
    await graphs.find((graph) => graph.name === name)?.run()
    process.send?.(performance.now() - start)
  }
}
