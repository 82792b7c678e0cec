// The studio: an HTTP API over a store and the loaded crews, and the page that uses it. A function from Request to
// Response, for any server. Each request is checked in the same order: host and origin, caller and role, query and
// body.
import type { IncomingMessage, ServerResponse } from 'node:http'
import { Crew } from '../crew/crew.ts'
import type { Store } from '../stores/store.ts'
import { RepriseError } from '../base/errors.ts'
import { packageVersion } from './package-version.ts'
import type { Endpoint, Role } from './api/contract.ts'
import { notFound, problemResponse, StudioProblem } from './api/problem.ts'
import { readBody, readQuery, partsOf, type AnyRoute, type Mount } from './api/route.ts'
import { table } from './api/routes.ts'
import { withGuardHeaders, checkHost, checkOrigin, allows, readTokens, type Tokens } from './guard.ts'
import { openContext, type StudioContext } from './context.ts'
import { Hono } from './router.ts'
import { check, func, optional, text, type Check, checkKeys } from '../base/options.ts'
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

export interface StudioOptions {
  /** Crews whose runs can be started, planned, replayed and forked here. */
  readonly crews?: readonly Crew[]
  /** Default: the store of the crews; without crews, the default store. */
  readonly store?: string | Store
  /** The path that the studio is mounted at: `/studio`. Default: the root. */
  readonly base?: string
  /**
   * Authorizes the caller of every API request, for a studio in your own server. Returns the caller's role, optionally
   * with the name to record as `by`. Undefined refuses the request.
   */
  readonly authorize?: (request: Request) => Caller | Promise<Caller>
  /** Tokens by role. Can't be combined with `authorize`. */
  readonly tokens?: Tokens
  /**
   * Host names of the studio in addition to localhost and IP addresses. Requests for other hosts are refused. Default
   * with `authorize`: any host.
   */
  readonly allowHosts?: readonly string[]
  /** Recorded as `by` if neither the caller nor the request provides a name. */
  readonly by?: string
  /** Folder with another build of the page. */
  readonly page?: string
}

export type Caller = Role | { readonly role: Role; readonly by?: string } | undefined

export interface Studio extends AsyncDisposable {
  /** For servers with web-standard requests: hono, Next.js, Deno, Bun. Never rejects. */
  fetch(request: Request): Promise<Response>
  /** For node:http: `createServer(studio.listener)`. */
  readonly listener: (request: IncomingMessage, response: ServerResponse) => Promise<void>
  /**
   * Opens the store now instead of with the first request. Rejects with OPTION_INVALID, or with the errors of opening a
   * store.
   */
  open(): Promise<void>
  /**
   * Suspends the runs that this studio executes, so that they can be resumed. Closes the store if the studio opened it.
   */
  close(): Promise<void>
}

/** Creates a studio. Its first request opens the store. Throws OPTION_INVALID or OPTION_UNKNOWN. */
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

  async function answer(route: AnyRoute, request: Request, param: (name: string) => string): Promise<Response> {
    const caller = await callerOf(request)
    const role = typeof caller === 'object' ? caller.role : caller
    if (route.role !== undefined) {
      if (role === undefined)
        throw new StudioProblem('TOKEN_MISSING', 'this endpoint needs a token', { 'www-authenticate': 'Bearer' })
      if (!allows(role, route.role))
        throw new StudioProblem('ROLE_MISSING', `this endpoint needs the role ${route.role}, and your role is ${role}`)
    }
    const query = readQuery(route, new URL(request.url).searchParams)
    const body = (await readBody(route, request)) as { readonly by?: string } | undefined
    const actor = (typeof caller === 'object' ? caller.by : undefined) ?? body?.by ?? by
    const call = { context: await open(), role, request, param, query, body, by: actor, mount }
    const result = await route.handle(call as never)
    return result instanceof Response ? result : Response.json(result)
  }

  const api = new Hono()
  for (const [endpoint, route] of table) {
    const { method, pattern } = patternOf(endpoint)
    api.on(method, pattern, ({ req }) => answer(route, req.raw, (name) => req.param(name) ?? ''))
  }
  for (const [pattern, endpoints] of Map.groupBy(table.keys(), (endpoint) => patternOf(endpoint).pattern))
    api.all(pattern, ({ req }) => {
      const allow = endpoints.map((endpoint) => patternOf(endpoint).method).join(', ')
      throw new StudioProblem('METHOD_REFUSED', `${req.method} is not allowed for this path; use ${allow}`, { allow })
    })
  api.notFound(() => problemResponse(notFound('the API has no such path')))
  api.onError((error) => problemResponse(error))

  async function respond(request: Request): Promise<Response> {
    const url = new URL(request.url)
    checkHost(url, allowHosts)
    // no valid id or file name contains a null byte, and some stores fail on it
    if (`${url.pathname}${url.search}`.includes('%00'))
      throw new RepriseError('OPTION_INVALID', 'the URL contains a null byte (%00); remove it')
    const path = pathBelow(base, url.pathname)
    if (path === undefined) throw notFound(`the studio is mounted at ${base}/`)
    if (!/^\/api(\/|$)/.test(path)) {
      const { response, cached } = await page.serve(request, path)
      return withGuardHeaders(response, cached)
    }
    checkOrigin(request, url)
    return withGuardHeaders(await api.fetch(withPath(request, path.slice('/api'.length))))
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
      // loaded on demand: other servers don't need it
      const { getRequestListener } = await import('./node-listener.ts')
      await getRequestListener(fetch, { overrideGlobalObjects: false })(request, response)
    },
    open: async () => void (await open()),
    close,
    [Symbol.asyncDispose]: close,
  }
}

/** Copies the request with another path. */
function withPath(request: Request, path: string): Request {
  const url = new URL(request.url)
  url.pathname = path === '' ? '/' : path
  return new Request(url, request)
}

/** The path relative to the base. Undefined if it isn't below the base. */
function pathBelow(base: string, path: string): string | undefined {
  if (base === '') return path
  if (path === base) return '/'
  return path.startsWith(`${base}/`) ? path.slice(base.length) : undefined
}

function patternOf(endpoint: Endpoint): { method: string; pattern: string } {
  const { method, path } = partsOf(endpoint)
  return { method, pattern: path.replaceAll(/\{(\w+)\}/g, ':$1') }
}

interface StudioSettings extends Omit<StudioOptions, 'crews' | 'base' | 'allowHosts'> {
  readonly crews: readonly Crew[]
  /** Without a trailing slash; empty for the root. */
  readonly base: string
  /** Undefined accepts any host. */
  readonly allowHosts: readonly string[] | undefined
}

const crewList: Check<readonly Crew[]> = check(
  'a list of crews',
  (value) => Array.isArray(value) && value.every((item) => Crew.isInstance(item)),
)
const pathCheck: Check<string> = check(
  'a path such as /studio',
  (value) => typeof value === 'string' && /^(\/[\w.~-]+)*\/?$/.test(value) && !value.includes('..'),
)
const hostNames: Check<readonly string[]> = check(
  'a list of host names, without ports',
  (value) => Array.isArray(value) && value.every((name) => typeof name === 'string' && /^[\w.-]+$/.test(name)),
)

function readStudioOptions(options: StudioOptions): StudioSettings {
  checkKeys('studio', options, ['crews', 'store', 'base', 'authorize', 'tokens', 'allowHosts', 'by', 'page'])
  const { authorize, tokens } = options
  optional('authorize', authorize, func)
  if (authorize && tokens)
    throw new RepriseError('OPTION_INVALID', 'authorize and tokens exclude each other; pass only one of them')
  const allowHosts = optional('allowHosts', options.allowHosts, hostNames)
  optional('by', options.by, text)
  optional('page', options.page, text)
  return {
    ...options,
    crews: optional('crews', options.crews, crewList) ?? [],
    base: (optional('base', options.base, pathCheck) ?? '').replace(/\/$/, ''),
    allowHosts: allowHosts ?? (authorize ? undefined : []),
  }
}

// The page: its built files, and index.html for the addresses of its views, so that links to runs work. Serves only
// files that were found when the folder was read, so a path can't escape the folder.

/** `dist/studio/web` of this package, whether this module runs from `src` or `dist`. */
const builtFolder = fileURLToPath(new URL('../../dist/studio/web/', import.meta.url))

const contentTypes: { readonly [ending: string]: string } = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ico: 'image/x-icon',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json; charset=utf-8',
  map: 'application/json; charset=utf-8',
  png: 'image/png',
  svg: 'image/svg+xml; charset=utf-8',
  txt: 'text/plain; charset=utf-8',
  webmanifest: 'application/manifest+json; charset=utf-8',
  woff2: 'font/woff2',
}

interface Page {
  /**
   * `path` is relative to the base and starts with a slash. `cached`: the browser may cache the response forever.
   * Throws NOT_FOUND for a missing file, METHOD_REFUSED unless the method is GET or HEAD.
   */
  serve(request: Request, path: string): Promise<{ readonly response: Response; readonly cached: boolean }>
}

function openPage(base: string, folder: string = builtFolder): Page {
  let reading: Promise<ReadonlySet<string>> | undefined
  const names = (): Promise<ReadonlySet<string>> => (reading ??= fileNames(folder))

  async function index(): Promise<Response> {
    // picks up a page that is built while the studio runs
    if (!(await names()).has('index.html')) reading = undefined
    if (!(await names()).has('index.html'))
      return new Response(withBase(unbuiltPage, base), { headers: { 'content-type': contentTypes['html'] ?? '' } })
    const html = await readFile(join(folder, 'index.html'), 'utf8')
    return new Response(withBase(html, base), { headers: { 'content-type': contentTypes['html'] ?? '' } })
  }

  return {
    async serve({ method }, path) {
      if (method !== 'GET' && method !== 'HEAD')
        throw new StudioProblem('METHOD_REFUSED', `${method} is not allowed for pages`, { allow: 'GET, HEAD' })
      const name = path.replace(/^\/+/, '')
      const [, ending] = /\.(\w+)$/.exec(name) ?? []
      // run ids may contain dots
      if (!name.includes('.') || /^(runs|crews)\//.test(name)) return { response: await index(), cached: false }
      const type = ending === undefined || name === 'index.html' ? undefined : contentTypes[ending]
      if (type === undefined || !(await names()).has(name)) throw notFound(`there is no file ${name}`)
      const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' }
      // the names of these files contain a hash of their content, so they never change
      const cached = name.startsWith('assets/')
      return { response: new Response(new Uint8Array(await readFile(join(folder, name))), { headers }), cached }
    },
  }
}

/** The files in a folder as relative paths with slashes. Empty if the folder doesn't exist. */
async function fileNames(folder: string): Promise<ReadonlySet<string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = found.filter((entry) => entry.isFile())
  return new Set(
    files.map(({ parentPath, name }) => join(parentPath, name).slice(join(folder, sep).length).replaceAll(sep, '/')),
  )
}

/** Sets the base that all URLs in the page are relative to. */
function withBase(html: string, base: string): string {
  const tag = `<base href="${base.replaceAll('"', '%22')}/">`
  return /<base\b[^>]*>/i.test(html) ? html.replace(/<base\b[^>]*>/i, tag) : html.replace(/<head\b[^>]*>/i, `$&${tag}`)
}

const unbuiltPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Reprise studio</title>
</head>
<body>
<h1>The studio’s page is not built</h1>
<p>The API works, and is described at <a href="api/openapi.json">api/openapi.json</a>.
In a clone of Reprise, run <code>npm run build</code>, then reload.</p>
</body>
</html>
`
