// The page: files that its build left beside this code, and index.html for every path that names no file, so that a
// link leads to a run. Only names that were found when the folder was read are served: no path leads out of it.
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StudioProblem, notFound } from '../api/problem.ts'

/** `dist/studio/web` of this package, from the sources as from what is built. */
const built = fileURLToPath(new URL('../../../dist/studio/web/', import.meta.url))

const types: { readonly [ending: string]: string } = {
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

export interface Page {
  /** `path` is below the base, and begins with a slash. NOT_FOUND, METHOD_REFUSED. */
  serve(request: Request, path: string): Promise<{ readonly response: Response; readonly cached: boolean }>
}

export function openPage(base: string, folder: string = built): Page {
  let reading: Promise<ReadonlySet<string>> | undefined
  const names = (): Promise<ReadonlySet<string>> => (reading ??= namesIn(folder))

  async function index(): Promise<Response> {
    // whoever built it since then need not start the studio again
    if (!(await names()).has('index.html')) reading = undefined
    if (!(await names()).has('index.html'))
      return new Response(withBase(unbuilt, base), { headers: { 'content-type': types['html'] ?? '' } })
    const html = await readFile(join(folder, 'index.html'), 'utf8')
    return new Response(withBase(html, base), { headers: { 'content-type': types['html'] ?? '' } })
  }

  return {
    async serve({ method }, path) {
      if (method !== 'GET' && method !== 'HEAD')
        throw new StudioProblem('METHOD_REFUSED', `${method} is not for pages`, { allow: 'GET, HEAD' })
      const name = path.replace(/^\/+/, '')
      const [, ending] = /\.(\w+)$/.exec(name) ?? []
      // ids of runs have dots in them, too
      if (!name.includes('.') || /^(runs|crews)\//.test(name)) return { response: await index(), cached: false }
      const type = ending === undefined || name === 'index.html' ? undefined : types[ending]
      if (type === undefined || !(await names()).has(name)) throw notFound(`there is no file ${name}`)
      const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' }
      // only what has a hash in its name never changes
      const cached = name.startsWith('assets/')
      return { response: new Response(new Uint8Array(await readFile(join(folder, name))), { headers }), cached }
    },
  }
}

/** Relative, with slashes; none where there is no such folder. */
async function namesIn(folder: string): Promise<ReadonlySet<string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = found.filter((entry) => entry.isFile())
  return new Set(
    files.map(({ parentPath, name }) => join(parentPath, name).slice(join(folder, sep).length).replaceAll(sep, '/')),
  )
}

/** All addresses in the page are relative to this, whatever path it is shown under. */
function withBase(html: string, base: string): string {
  const tag = `<base href="${base.replaceAll('"', '%22')}/">`
  return /<base\b[^>]*>/i.test(html) ? html.replace(/<base\b[^>]*>/i, tag) : html.replace(/<head\b[^>]*>/i, `$&${tag}`)
}

const unbuilt = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Reprise studio</title>
</head>
<body>
<h1>The page of the studio is not built</h1>
<p>Its API is here all the same, described at <a href="api/openapi.json">api/openapi.json</a>.
In a clone of Reprise, <code>npm run build</code> makes the page; then load this again.</p>
</body>
</html>
`
