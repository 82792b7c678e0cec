// The table of all endpoints.
import { actionRoutes } from '../routes/actions.ts'
import { backtestRoutes } from '../routes/backtests.ts'
import { crewRoutes } from '../routes/crews.ts'
import { questionRoutes } from '../routes/questions.ts'
import { runRoutes } from '../routes/runs.ts'
import { sessionRoutes } from '../routes/session.ts'
import { streamRoutes } from '../routes/streams.ts'
import type { Endpoint } from './contract.ts'
import { openApi } from './openapi.ts'
import type { AnyRoute, Routes } from './route.ts'

const routes: Routes<Endpoint> = {
  ...sessionRoutes,
  'GET /openapi.json': {
    summary: 'Describe this API',
    role: 'look',
    handle: async ({ mount }) => openApi(table, mount, (await import('./response-schemas.ts')).responseSchemas),
  },
  ...questionRoutes,
  ...runRoutes,
  ...streamRoutes,
  ...crewRoutes,
  ...actionRoutes,
  ...backtestRoutes,
}

export const table: ReadonlyMap<Endpoint, AnyRoute> = new Map(Object.entries(routes) as [Endpoint, AnyRoute][])
