// The studio: an HTTP API over a store, and over crews where their code is at hand, with a page that shows it. It is a
// function from a Request to a Response, for any server. Every request passes the same way: is it meant for this
// studio, who is asking, may they, what exactly is asked.
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Crew } from '../crew/crew.ts'
import { scheduleInCode } from '../crew/queue/schedule-in-code.ts'
import type { Store } from '../stores/store.ts'
import { RepriseError } from '../base/errors.ts'
import { packageVersion } from './package-version.ts'
import type { Role } from './api/contract.ts'
import { notFound, problemResponse, StudioProblem } from './api/problem.ts'
import { readBody, readQuery } from './api/read-call.ts'
import { partsOf, type AnyRoute, type Mount } from './api/route.ts'
import { table } from './api/routes.ts'
import { withGuardHeaders } from './guard/headers.ts'
import { checkHost, checkOrigin } from './guard/origin.ts'
import { allows } from './guard/roles.ts'
import { readTokens, type Tokens } from './guard/tokens.ts'
import { openPage } from './page/serve-page.ts'
import { openContext, type StudioContext } from './context.ts'
import { Hono } from './router.ts'
import { readStudioOptions } from './studio-options.ts'

export interface StudioOptions {
  /** With their code, runs can be started, planned, replayed and forked here. */
  readonly crews?: readonly Crew[]
  /** Left out, that of the crews, or else the usual one. */
  readonly store?: string | Store
  /** The path that it is mounted under: `/studio`. Left out, it has the whole server. */
  readonly base?: string
  /**
   * Who is asking, for a studio within a server of your own: their role, or with `by` also who they are, which the
   * journal keeps. Undefined refuses. It is called for every request to the API.
   */
  readonly authorize?: (request: Request) => Caller | Promise<Caller>
  /** By role: those that have one may do what the role may. Not beside `authorize`. */
  readonly tokens?: Tokens
  /**
   * Names that it is reached by, beside localhost and addresses: requests for others are refused. With `authorize`, any
   * unless some are given.
   */
  readonly allowHosts?: readonly string[]
  /** Who acts where nobody says, for the journal. */
  readonly by?: string
  /** Another folder with a page than the one that comes along. */
  readonly page?: string
}

export type Caller = Role | { readonly role: Role; readonly by?: string } | undefined

export interface Studio extends AsyncDisposable {
  /** For servers that take web-standard requests: hono, Next.js, Deno, Bun. It never rejects. */
  fetch(request: Request): Promise<Response>
  /** For node:http: `createServer(studio.listener)`. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /** Opens the store, which otherwise the first request does. What opening a store gives; OPTION_INVALID. */
  open(): Promise<void>
  /** Stops what it executes: those runs are suspended, and can be resumed. Closes the store that it has opened. */
  close(): Promise<void>
}

/** OPTION_INVALID, OPTION_UNKNOWN: at once. Nothing is opened before the first request. */
export function studio(options: StudioOptions = {}): Studio {
  const { crews, base, authorize, allowHosts, by, page: folder } = readStudioOptions(options)
  const tokens = readTokens(options.tokens)
  const mount: Mount = { base, version: packageVersion(), tokens }
  const page = openPage(base, folder)
  let opening: Promise<StudioContext> | undefined
  const open = (): Promise<StudioContext> => {
    opening ??= openContext(crews, options.store)
    opening.catch(() => (opening = undefined))
    return opening
  }

  async function callerOf(request: Request): Promise<Caller> {
    if (authorize) return authorize(request)
    return tokens ? tokens.roleIn(request) : 'act'
  }

  async function answer(route: AnyRoute, request: Request, at: (name: string) => string): Promise<Response> {
    const caller = await callerOf(request)
    const role = typeof caller === 'object' ? caller.role : caller
    if (route.role !== undefined) {
      if (role === undefined)
        throw new StudioProblem('TOKEN_MISSING', 'this needs a token', { 'www-authenticate': 'Bearer' })
      if (!allows(role, route.role))
        throw new StudioProblem('ROLE_MISSING', `this is for the role ${route.role}, and you have ${role}`)
    }
    const query = readQuery(route, new URL(request.url).searchParams)
    const body = (await readBody(route, request)) as { readonly by?: string } | undefined
    const signed = (typeof caller === 'object' ? caller.by : undefined) ?? body?.by ?? by
    const place = await open()
    const call = { place, role, request, at, query, body, by: signed, mount }
    const said = await route.handle(call as never)
    return said instanceof Response ? said : Response.json(said)
  }

  const api = new Hono()
  for (const [endpoint, route] of table) {
    const { method, path } = partsOf(endpoint)
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    api.on(method, pattern, (context) => answer(route, context.req.raw, (name) => context.req.param(name) ?? ''))
  }
  for (const [pattern, methods] of methodsByPath())
    api.all(pattern, ({ req }) => {
      throw new StudioProblem('METHOD_REFUSED', `${req.method} is not for this path`, { allow: methods.join(', ') })
    })
  api.all('/crews/:crew/schedules/*', () => {
    throw notFound(`the studio sets and ends no schedules: ${scheduleInCode}`)
  })
  api.notFound(() => problemResponse(notFound('there is no such path in the API')))
  api.onError((error) => problemResponse(error))

  async function respond(request: Request): Promise<Response> {
    const url = new URL(request.url)
    checkHost(url, { hosts: allowHosts })
    // no id, name or file has one, and some stores cannot be asked for it
    if (`${url.pathname}${url.search}`.includes('%00'))
      throw new RepriseError('OPTION_INVALID', 'the address has a zero byte; leave it out')
    const path = pathBelow(base, url.pathname)
    if (path === undefined) throw notFound(`the studio is at ${base}/`)
    if (!/^\/api(\/|$)/.test(path)) {
      const { response, cached } = await page.serve(request, path)
      return withGuardHeaders(response, cached)
    }
    checkOrigin(request, url)
    return withGuardHeaders(await api.fetch(within(request, path.slice('/api'.length))))
  }

  async function fetch(request: Request): Promise<Response> {
    try {
      return await respond(request)
    } catch (error) {
      return withGuardHeaders(problemResponse(error))
    }
  }

  async function close(): Promise<void> {
    const opened = await opening?.catch(() => undefined)
    opening = undefined
    await opened?.close()
  }

  return {
    fetch,
    async listener(request, response) {
      // loaded when it is needed: other servers have their own
      const { getRequestListener } = await import('./node-listener.ts')
      await getRequestListener(fetch, { overrideGlobalObjects: false })(request, response)
    },
    open: async () => void (await open()),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** The same request, for a path below the API. */
function within(request: Request, path: string): Request {
  const url = new URL(request.url)
  url.pathname = path === '' ? '/' : path
  return new Request(url, request)
}

/** Undefined when it isn't below. */
function pathBelow(base: string, path: string): string | undefined {
  if (base === '') return path
  if (path === base) return '/'
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined
}

function methodsByPath(): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const endpoint of table.keys()) {
    const { method, path } = partsOf(endpoint)
    const pattern = path.replaceAll(/\{(\w+)\}/g, ':$1')
    found.set(pattern, [...(found.get(pattern) ?? []), method])
  }
  return found
}
