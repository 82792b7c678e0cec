// The session of a browser (a cookie in exchange for a token), and the facts about this studio.
import { StudioProblem } from '../api/problem.ts'
import { sessionFields } from '../api/requests.ts'
import type { Routes } from '../api/route.ts'
import { expiredCookie } from '../guard.ts'

export const sessionRoutes: Routes<'POST /session' | 'DELETE /session' | 'GET /studio'> = {
  'POST /session': {
    summary: 'Exchange a token for a cookie',
    role: undefined,
    body: sessionFields,
    async handle({ body, mount, request }) {
      const role = mount.tokens?.roleOf(body.token)
      if (!mount.tokens || role === undefined)
        throw new StudioProblem('TOKEN_MISSING', mount.tokens ? 'unknown token' : 'this studio has no tokens')
      const secure = new URL(request.url).protocol === 'https:'
      const cookie = mount.tokens.cookie(body.token, { path: `${mount.base}/`, secure })
      return Response.json({ role }, { headers: { 'set-cookie': cookie } })
    },
  },
  'DELETE /session': {
    summary: 'Remove the cookie',
    role: undefined,
    handle: async ({ mount }) => Response.json({}, { headers: { 'set-cookie': expiredCookie(`${mount.base}/`) } }),
  },
  'GET /studio': {
    summary: 'Get the studio and the role of the caller',
    role: 'look',
    async handle({ context, role, mount, by }) {
      const { url, caution } = context.store
      return {
        version: mount.version,
        role,
        store: { url, ...(caution === undefined ? {} : { caution }) },
        crews: [...context.crews.keys()],
        tokens: mount.tokens !== undefined,
        ...(by === undefined ? {} : { by }),
      }
    },
  },
}
