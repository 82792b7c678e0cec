// Whole runs over PostgreSQL, compared with a raw insert through the same client, and with LangGraph.js and its
// PostgreSQL saver on the same server.
import type { Figure } from '../report.ts'
import { compareWholeRuns } from '../whole-run.ts'
import { durableServer, storeUrl } from './bench-server.ts'
import { rawPostgres } from './raw-postgres.ts'

export async function benchPostgresWholeRun(): Promise<Figure[]> {
  await using server = await durableServer()
  const raw = await rawPostgres(server.url)
  const figures = await compareWholeRuns({
    store: (name) => storeUrl(server, name),
    insert: raw.insert,
    inserted: 'a raw insert',
    peerPlace: server.url,
  })
  await raw.close()
  return figures.map((figure) => ({ ...figure, name: `PostgreSQL: ${figure.name}` }))
}
