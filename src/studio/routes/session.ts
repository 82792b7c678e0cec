// Who is asking, and what this studio is.
import { StudioProblem } from '../api/problem.ts'
import { text, type Routes } from '../api/route.ts'
import { noCookie } from '../guard/tokens.ts'

export const sessionRoutes: Routes<'POST /session' | 'DELETE /session' | 'GET /studio'> = {
  'POST /session': {
    summary: 'Exchange a token for a cookie',
    role: undefined,
    body: { fields: { token: text('one of those that the studio was started with') }, required: ['token'] },
    async handle({ body, mount, request }) {
      const role = mount.tokens?.roleOf(body.token)
      if (!mount.tokens || role === undefined)
        throw new StudioProblem('TOKEN_MISSING', mount.tokens ? 'there is no such token' : 'this studio has no tokens')
      const secure = new URL(request.url).protocol === 'https:'
      const cookie = mount.tokens.cookie(body.token, { path: `${mount.base}/`, secure })
      return Response.json({ role }, { headers: { 'set-cookie': cookie } })
    },
  },
  'DELETE /session': {
    summary: 'Have the browser forget the cookie',
    role: undefined,
    handle: async ({ mount }) => Response.json({}, { headers: { 'set-cookie': noCookie(`${mount.base}/`) } }),
  },
  'GET /studio': {
    summary: 'What this studio is, and what the caller may do',
    role: 'look',
    async handle({ place, role, mount, by }) {
      const { url, caution } = place.store
      return {
        version: mount.version,
        role,
        store: { url, ...(caution === undefined ? {} : { caution }) },
        crews: [...place.crews.keys()],
        tokens: mount.tokens !== undefined,
        ...(by === undefined ? {} : { by }),
      }
    },
  },
}
