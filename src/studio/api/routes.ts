// Every endpoint, in one table: requests are answered by it, and the OpenAPI description is made from it.
import { actingRoutes } from '../routes/actions.ts'
import { backtestRoutes } from '../routes/backtesting.ts'
import { crewRoutes } from '../routes/crews.ts'
import { peopleRoutes } from '../routes/questions.ts'
import { runRoutes } from '../routes/runs.ts'
import { sessionRoutes } from '../routes/session.ts'
import { streamRoutes } from '../routes/streams.ts'
import type { Endpoint } from './contract.ts'
import { openApi } from './openapi.ts'
import type { AnyRoute, Route, Routes } from './route.ts'

const described: Route<'GET /openapi.json'> = {
  summary: 'This description',
  role: 'look',
  handle: async ({ mount }) => openApi(table, mount, (await import('./response-schemas.ts')).responseSchemas),
}

const routes: Routes<Endpoint> = {
  ...sessionRoutes,
  'GET /openapi.json': described,
  ...peopleRoutes,
  ...runRoutes,
  ...streamRoutes,
  ...crewRoutes,
  ...actingRoutes,
  ...backtestRoutes,
}

export const table: ReadonlyMap<Endpoint, AnyRoute> = new Map(Object.entries(routes) as [Endpoint, AnyRoute][])
