// Restate on loopback: one node, or a cluster whose nodes can be killed and restarted one by one. It ends with this
// process.
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { isCi } from '../ci.ts'
import { freePort } from '../servers/free-port.ts'
import { startServer, type TestServer } from '../servers/server.ts'

export interface RestateNode {
  readonly ingress: string
  readonly admin: string
  /** The end of the node's log. */
  log(): Promise<string>
  kill(): Promise<void>
  /** Kills the node and deletes its data. */
  wipe(): Promise<void>
  /** Starts the node again. Resolves when it answers. */
  start(): Promise<void>
}

export interface RestateCluster extends AsyncDisposable {
  /** The addresses of all nodes. */
  readonly ingress: readonly string[]
  readonly admin: readonly string[]
  readonly nodes: readonly RestateNode[]
}

interface Ports {
  readonly ingress: number
  readonly admin: number
  readonly node: number
}

/** Rejects if Restate cannot be started. */
export async function startRestate(nodes = 1): Promise<RestateCluster> {
  await using stack = new AsyncDisposableStack()
  const ports: Ports[] = []
  for (let index = 0; index < nodes; index++)
    ports.push({ ingress: await freePort(), admin: await freePort(), node: await freePort() })
  const servers = await Promise.all(ports.map((own, index) => startNode(index, own, ports)))
  servers.forEach((server) => stack.use(server))
  const started = servers.map((server, index): RestateNode => {
    const { ingress, admin } = ports[index] as Ports
    return {
      ingress: `http://127.0.0.1:${ingress}`,
      admin: `http://127.0.0.1:${admin}`,
      log: async () => (await server.look()).log,
      kill: () => server.kill(),
      async wipe() {
        await server.kill()
        const data = join(server.folder, 'data')
        for (const name of await readdir(data)) await rm(join(data, name), { recursive: true })
      },
      async start() {
        await server.start()
        await answers(admin)
      },
    }
  })
  await Promise.all(ports.map(({ admin }) => answers(admin)))
  const disposal = stack.move()
  return {
    ingress: started.map((node) => node.ingress),
    admin: started.map((node) => node.admin),
    nodes: started,
    [Symbol.asyncDispose]: () => disposal.disposeAsync(),
  }
}

/** `skip` of node:test: why tests need Restate and cannot have it. Rejects in CI, where none may be skipped. */
export async function withoutRestate(): Promise<string | false> {
  try {
    const { find } = await import('./restate-program.ts')
    find()
    return false
  } catch (error) {
    if (isCi) throw error
    return (error as Error).message
  }
}

function startNode(index: number, own: Ports, all: readonly Ports[]): Promise<TestServer> {
  const restate = {
    'cluster-name': 'reprise-tests',
    'node-name': `node-${index + 1}`,
    // the first node creates the cluster, and the others join it
    'auto-provision': index === 0,
    'default-num-partitions': 4,
    'default-replication': Math.min(2, all.length),
    'disable-telemetry': true,
    'listen-mode': 'tcp',
    'bind-ip': '127.0.0.1',
    'bind-port': own.node,
    'advertised-address': `http://127.0.0.1:${own.node}`,
    'rocksdb-total-memory-size': '256 MiB',
    'log-disable-ansi-codes': true,
  }
  const addresses = all.map(({ node }) => `http://127.0.0.1:${node}`)
  const sections = {
    'metadata-client': { addresses },
    ingress: { 'bind-address': `127.0.0.1:${own.ingress}` },
    admin: { 'bind-address': `127.0.0.1:${own.admin}`, 'disable-web-ui': true },
  }
  const lines = Object.entries(restate).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
  for (const [name, values] of Object.entries(sections)) {
    lines.push(`[${name}]`)
    for (const [key, value] of Object.entries(values)) lines.push(`${key} = ${JSON.stringify(value)}`)
  }
  return startServer('restate', { files: { 'restate.toml': `${lines.join('\n')}\n` } })
}

async function answers(admin: number): Promise<void> {
  for (;;) {
    const health = await fetch(`http://127.0.0.1:${admin}/health`).catch(() => undefined)
    if (health?.ok) return
    await wait(50)
  }
}
