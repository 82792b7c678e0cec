// Serves the built files of the page, and index.html for every other path, so that links to runs work. Only names found
// when the folder was read are served, so no path leads out of it.
import { readdir, readFile } from 'node:fs/promises'
import { join, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { StudioProblem, notFound } from './api/problem.ts'

/** `dist/studio/web` of this package, whether this module runs from `src` or `dist`. */
const built = fileURLToPath(new URL('../../dist/studio/web/', import.meta.url))

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
  /** `path` is relative to the base and starts with a slash. NOT_FOUND, METHOD_REFUSED. */
  serve(request: Request, path: string): Promise<{ readonly response: Response; readonly cached: boolean }>
}

export function openPage(base: string, folder: string = built): Page {
  let reading: Promise<ReadonlySet<string>> | undefined
  const names = (): Promise<ReadonlySet<string>> => (reading ??= namesIn(folder))

  async function index(): Promise<Response> {
    // a page built after the start is picked up without a restart
    if (!(await names()).has('index.html')) reading = undefined
    if (!(await names()).has('index.html'))
      return new Response(withBase(unbuilt, base), { headers: { 'content-type': types['html'] ?? '' } })
    const html = await readFile(join(folder, 'index.html'), 'utf8')
    return new Response(withBase(html, base), { headers: { 'content-type': types['html'] ?? '' } })
  }

  return {
    async serve({ method }, path) {
      if (method !== 'GET' && method !== 'HEAD')
        throw new StudioProblem('METHOD_REFUSED', `${method} is not allowed for pages`, { allow: 'GET, HEAD' })
      const name = path.replace(/^\/+/, '')
      const [, ending] = /\.(\w+)$/.exec(name) ?? []
      // run ids may contain dots
      if (!name.includes('.') || /^(runs|crews)\//.test(name)) return { response: await index(), cached: false }
      const type = ending === undefined || name === 'index.html' ? undefined : types[ending]
      if (type === undefined || !(await names()).has(name)) throw notFound(`there is no file ${name}`)
      const headers = { 'content-type': type, 'cache-control': 'public, max-age=31536000, immutable' }
      // only files with a hash in their name never change
      const cached = name.startsWith('assets/')
      return { response: new Response(new Uint8Array(await readFile(join(folder, name))), { headers }), cached }
    },
  }
}

/** Relative paths with slashes. Empty if there is no such folder. */
async function namesIn(folder: string): Promise<ReadonlySet<string>> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => [])
  const files = found.filter((entry) => entry.isFile())
  return new Set(
    files.map(({ parentPath, name }) => join(parentPath, name).slice(join(folder, sep).length).replaceAll(sep, '/')),
  )
}

/** All URLs in the page are relative to this, wherever it is mounted. */
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
<h1>The studio’s page is not built</h1>
<p>The API works, and is described at <a href="api/openapi.json">api/openapi.json</a>.
In a clone of Reprise, run <code>npm run build</code>, then reload.</p>
</body>
</html>
`
