// The page, its paths, and the description of the API.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { memoryStore } from 'reprise/stores'
import { table } from '../../src/studio/api/routes.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { served } from './support.ts'

const html =
  '<!doctype html><html><head><base href="/"><script type="module" src="./assets/app-1a2b.js"></script></head></html>'

/** As a build leaves it, with a secret beside. */
async function built() {
  const folder = await temporaryFolder()
  const page = join(folder.path, 'web')
  await mkdir(join(page, 'assets'), { recursive: true })
  await writeFile(join(folder.path, 'secret.txt'), 'secret')
  await writeFile(join(page, 'index.html'), html)
  await writeFile(join(page, 'assets/app-1a2b.js'), 'export {}')
  await writeFile(join(page, 'icon.svg'), '<svg/>')
  await writeFile(join(page, 'notes.exe'), 'x')
  await symlink(join(folder.path, 'secret.txt'), join(page, 'linked.txt'))
  return { page, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

describe('the page', () => {
  test('is served for every path that names no file, and knows where it is mounted', async () => {
    await using web = await built()
    await using studio = await served({ store: memoryStore(), page: web.page, base: '/studio' })
    for (const path of ['', 'runs', `runs/${encodeURIComponent('a/b#1')}/steps/1`, 'crews/claims', 'runs/claim.v2']) {
      const response = await fetch(studio.url + path)
      assert.equal(response.headers.get('content-type'), 'text/html; charset=utf-8', path)
      assert.match(await response.text(), /<base href="\/studio\/"><script type="module" src="\.\/assets/, path)
    }
    const { origin } = new URL(studio.url)
    assert.equal((await fetch(`${origin}/studio`)).status, 200)
    assert.equal((await fetch(`${origin}/`)).status, 404)
    assert.equal((await fetch(`${origin}/studious`)).status, 404)
  })

  test('is served for a path that begins with several slashes', async () => {
    await using web = await built()
    await using studio = await served({ store: memoryStore(), page: web.page })
    for (const path of ['//', '//runs', '///runs/claim.v2', '//api/studio'])
      assert.match(await raw(studio.url, path), /^HTTP\/1.1 200 .*<base href="\/">/s, path)
  })

  test('has its files with their types, cached for ever if a hash is in the name', async () => {
    await using web = await built()
    await using studio = await served({ store: memoryStore(), page: web.page })
    const script = await fetch(`${studio.url}assets/app-1a2b.js`)
    assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8')
    assert.match(script.headers.get('cache-control') ?? '', /immutable/)
    assert.equal(script.headers.get('x-content-type-options'), 'nosniff')
    const icon = await fetch(`${studio.url}icon.svg`)
    assert.match(icon.headers.get('cache-control') ?? '', /no-store/)
    assert.equal((await fetch(studio.url, { method: 'HEAD' })).status, 200)
    const post = await fetch(studio.url, { method: 'POST' })
    assert.deepEqual([post.status, post.headers.get('allow')], [405, 'GET, HEAD'])
  })

  test('serves no other file, by whatever path', async () => {
    await using web = await built()
    await using studio = await served({ store: memoryStore(), page: web.page })
    for (const path of [
      '/../secret.txt',
      '/assets/../../secret.txt',
      '/%2e%2e/secret.txt',
      '/..%2fsecret.txt',
      '/..%5csecret.txt',
      '/assets/%2e%2e%2f%2e%2e%2fsecret.txt',
      '//secret.txt',
      '/linked.txt',
      '/secret.txt%00.js',
      '/notes.exe',
      '/assets',
      '/.env',
      `/${web.page}/../secret.txt`,
    ]) {
      const answer = await raw(studio.url, path)
      assert.ok(!answer.includes('\r\n\r\nsecret'), path)
      if (path !== '/assets') assert.match(answer, /^HTTP\/1\.1 (404|400) /, path)
    }
  })

  test("that isn't built says how to build it, and is found once it is", async () => {
    await using folder = await temporaryFolder()
    const page = join(folder.path, 'later')
    await using studio = await served({ store: memoryStore(), page })
    assert.match(await (await fetch(`${studio.url}runs/x`)).text(), /npm run build/)
    await mkdir(page)
    await writeFile(join(page, 'index.html'), html)
    assert.match(await (await fetch(studio.url)).text(), /app-1a2b/)
  })
})

describe('the description of the API', () => {
  test('has exactly the paths and methods that are served, and all others are refused', async () => {
    await using studio = await served({ store: memoryStore() })
    const { openapi, paths } = (await studio.get('GET /openapi.json', '/openapi.json')) as {
      openapi: string
      paths: { [path: string]: { [method: string]: { parameters: { name: string; in: string }[] } } }
    }
    assert.equal(openapi, '3.1.0')
    const described = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    )
    assert.deepEqual(described.toSorted(), [...table.keys()].toSorted())
    for (const [path, methods] of Object.entries(paths)) {
      const at = path.replaceAll(/\{\w+\}/g, 'x')
      for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        if (method.toLowerCase() in methods) continue
        const response = await studio.send(at, { method, headers: { 'x-reprise-studio': '1' } })
        assert.equal(response.status, 405, `${method} ${path}`)
        const allowed = Object.keys(methods).map((name) => name.toUpperCase())
        assert.equal(response.headers.get('allow'), allowed.join(', '))
      }
      for (const { parameters } of Object.values(methods)) {
        const inPath = parameters.filter((parameter) => parameter.in === 'path').map(({ name }) => `{${name}}`)
        assert.deepEqual(inPath, path.match(/\{\w+\}/g) ?? [])
      }
    }
    assert.equal((await studio.send('/none')).status, 404)
  })

  test('has no dangling reference', async () => {
    await using studio = await served({ store: memoryStore() })
    const text = JSON.stringify(await studio.get('GET /openapi.json', '/openapi.json'))
    const { components } = JSON.parse(text) as { components: { schemas: object } }
    for (const [, name = ''] of text.matchAll(/#\/components\/schemas\/(\w+)/g))
      assert.ok(name in components.schemas, name)
  })
})

/** The path as it is: clients resolve dots before they send it. */
async function raw(url: string, path: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${hostname}\r\nConnection: close\r\n\r\n`)
  let answer = ''
  socket.on('data', (piece) => (answer += String(piece)))
  await once(socket, 'close')
  return answer
}
