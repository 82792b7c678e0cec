// Requests that are not meant for this studio, or not allowed: refused, with a code, and nothing happens.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import { connect } from 'node:net'
import { describe, test } from 'node:test'
import { serveStudio, studio as openStudio } from 'reprise/studio'
import { memoryStore } from 'reprise/stores'
import { bodyLimit, partsOf } from '../../src/studio/api/route.ts'
import { table } from '../../src/studio/api/routes.ts'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'
import { claims, clientOf, posted, problemOf, served } from './support.ts'

const tokens = {
  look: 'look-look-look-look',
  answer: 'answer-answer-answer',
  act: ['act-act-act-act-act', 'two-two-two-two-two'],
}
const bearer = (token: string): { authorization: string } => ({ authorization: `Bearer ${token}` })

describe('a request from elsewhere', () => {
  test('is refused if it is for a foreign name that resolves to this machine', async () => {
    await using studio = await served({ crews: [claims()] })
    for (const [host, status] of [
      ['evil.example', 403],
      ['evil.example:4400', 403],
      ['localhost.evil.example', 403],
      ['127.0.0.1.evil.example', 403],
      ['localhost', 200],
      ['studio.localhost:1', 200],
      ['[::1]:4400', 200],
      ['10.0.0.7', 200],
    ] as const)
      assert.equal((await sent(studio.url, 'api/studio', { host })).status, status, host)
    // the page is not shown either
    assert.equal((await sent(studio.url, '', { host: 'evil.example' })).status, 403)
  })

  test('is accepted for a name that the studio was given', async () => {
    await using studio = await served({ crews: [claims()], allowHosts: ['studio.example'] })
    assert.equal((await sent(studio.url, 'api/studio', { host: 'studio.example' })).status, 200)
    assert.equal((await sent(studio.url, 'api/studio', { host: 'evil.example' })).status, 403)
  })

  test('is refused if another page sent it, whatever it requests', async () => {
    const crew = claims()
    await using studio = await served({ crews: [crew] })
    const own = new URL(studio.url).origin
    for (const origin of ['https://evil.example', 'null', 'http://127.0.0.1', `${own}1`, '']) {
      const headers = { origin, 'x-reprise-studio': '1' }
      const start = await studio.send('/crews/claims/runs', posted({ how: 'queue', inputs: { notes: 'x' } }, headers))
      assert.deepEqual([start.status, (await problemOf(start)).code], [403, 'ORIGIN_REFUSED'], origin)
      assert.equal((await studio.send('/studio', { headers })).status, 403, origin)
    }
    assert.deepEqual((await studio.get('GET /runs', '/runs')).runs, [])
    const ownPage = {
      ...posted({ inputs: { notes: 'x' } }),
      headers: { 'content-type': 'application/json', origin: own },
    }
    assert.equal((await studio.send('/crews/claims/plan', ownPage)).status, 200)
  })

  test('is refused if it changes something without an origin or the mark of a program', async () => {
    await using studio = await served({ crews: [claims()] })
    const body = JSON.stringify({ inputs: { notes: 'x' } })
    const headers = { 'content-type': 'application/json' }
    const bare = await studio.send('/crews/claims/plan', { method: 'POST', headers, body })
    assert.deepEqual((await problemOf(bare)).code, 'ORIGIN_REFUSED')
    const site = { ...headers, 'x-reprise-studio': '1', 'sec-fetch-site': 'cross-site' }
    assert.equal((await studio.send('/crews/claims/plan', { method: 'POST', headers: site, body })).status, 403)
  })
})

describe('tokens', () => {
  test('are needed for everything in the API, and not for the page', async () => {
    await using studio = await served({ crews: [claims()], tokens })
    for (const endpoint of table.keys()) {
      const [method = '', path = ''] = endpoint.split(' ')
      if (path === '/session') continue
      const at = path.replaceAll(/\{\w+\}/g, 'x')
      const init = method === 'GET' ? {} : posted({})
      for (const headers of [{}, bearer('wrong-wrong-wrong-wrong'), { cookie: 'reprise-studio=wrong' }]) {
        const response = await studio.send(at, {
          ...init,
          method,
          headers: { ...(init.headers as object), ...headers },
        })
        assert.deepEqual([response.status, (await problemOf(response)).code], [401, 'TOKEN_MISSING'], endpoint)
      }
    }
    assert.equal((await fetch(studio.url)).status, 200)
  })

  test('allow what their role allows, and nothing more', async () => {
    const crew = claims()
    await crew.kickoff({ id: 'r', inputs: { notes: 'P-1' } })
    await using studio = await served({ crews: [crew], tokens })
    const look = clientOf(studio.url, bearer(tokens.look))
    assert.equal((await look.get('GET /studio', '/studio')).role, 'look')
    assert.deepEqual((await look.get('GET /runs/{run}', '/runs/r')).can, [])
    const answer = '/runs/r/questions/q1'
    for (const path of [answer, '/runs/r/cancel', '/runs/r/plan', '/crews/claims/runs']) {
      const refused = await look.send(path, posted({ decision: 'approve' }))
      assert.deepEqual([refused.status, (await problemOf(refused)).code], [403, 'ROLE_MISSING'], path)
    }
    const answers = clientOf(studio.url, bearer(tokens.answer))
    assert.deepEqual((await answers.get('GET /runs/{run}', '/runs/r')).can, ['answer'])
    assert.equal((await answers.send('/runs/r/cancel', posted({}))).status, 403)
    assert.equal((await answers.send(answer, posted({ decision: 'approve' }))).status, 200)
    const acts = clientOf(studio.url, bearer('two-two-two-two-two'))
    assert.equal((await acts.send('/runs/r/cancel', posted({}))).status, 200)
  })

  test('are exchanged for a cookie that is not the token, which scripts cannot read and other sites do not send', async () => {
    await using studio = await served({ crews: [claims()], tokens, base: '/studio' })
    const wrong = await studio.send('/session', posted({ token: 'wrong-wrong-wrong-wrong' }))
    assert.deepEqual([wrong.status, wrong.headers.get('set-cookie')], [401, null])
    const made = await studio.send('/session', posted({ token: tokens.answer }))
    assert.deepEqual(await made.json(), { role: 'answer' })
    const [cookie = '', ...rest] = (made.headers.get('set-cookie') ?? '').split('; ')
    assert.deepEqual(rest, ['Path=/studio/', 'HttpOnly', 'SameSite=Strict'])
    assert.ok(!cookie.includes(tokens.answer))
    const shown = await clientOf(studio.url, { cookie }).get('GET /studio', '/studio')
    assert.deepEqual([shown.role, shown.tokens], ['answer', true])
    const gone = await studio.send('/session', { ...posted({}), method: 'DELETE' })
    assert.match(gone.headers.get('set-cookie') ?? '', /Max-Age=0/)
  })

  test('are required for every public address, and refused if they can be guessed', async () => {
    const store = memoryStore()
    for (const host of ['0.0.0.0', '::', '192.168.1.7', 'studio.example'])
      await assert.rejects(serveStudio({ store, host, port: 0 }), { code: 'OPTION_INVALID', message: /no token/ }, host)
    await assert.rejects(serveStudio({ store, host: '0.0.0.0', tokens: { act: [] }, port: 0 }), /no token/)
    await assert.rejects(serveStudio({ store, tokens: { act: 'short' }, port: 0 }), /has 5 characters/)
    await assert.rejects(serveStudio({ store, tokens: { act: 'twenty chars, spaces' }, port: 0 }), /contains a space/)
    await using open = await served({ store, host: '0.0.0.0', tokens })
    const { port } = new URL(open.url)
    assert.equal((await fetch(`http://127.0.0.1:${port}/api/studio`, { headers: bearer(tokens.look) })).status, 200)
  })

  test('are not used beside authorize, which decides who acts, whatever the body says', async () => {
    assert.throws(() => openStudio({ tokens, authorize: () => 'act' }), { code: 'OPTION_INVALID' })
    const crew = claims()
    await crew.kickoff({ id: 'r', inputs: { notes: 'P-1' } })
    const studio = openStudio({
      crews: [crew],
      authorize: ({ headers }) => (headers.get('x-user') === 'ada' ? { role: 'answer', by: 'ada' } : undefined),
    })
    const url = 'https://app.example/api/runs/r/questions/q1'
    assert.equal((await studio.fetch(new Request(url, posted({ decision: 'approve' })))).status, 401)
    const request = new Request(url, posted({ decision: 'approve', by: 'another person' }, { 'x-user': 'ada' }))
    assert.equal((await studio.fetch(request)).status, 200)
    const step = await studio.fetch(
      new Request('https://app.example/api/runs/r/steps/settle%231%2F1.0', { headers: { 'x-user': 'ada' } }),
    )
    const { questions } = (await step.json()) as { questions: { answer: { by: string } }[] }
    assert.equal(questions[0]?.answer.by, 'ada')
  })
})

describe('the body of a request', () => {
  test('is refused if it is too large, whatever length it declares, and not read to its end', async () => {
    await using studio = await served({ crews: [claims()] })
    const large = await studio.send('/crews/claims/plan', posted(`{"inputs":{"notes":"${'x'.repeat(bodyLimit)}"}}`))
    assert.deepEqual([large.status, (await problemOf(large)).code], [413, 'BODY_TOO_LARGE'])
    const { hostname, port } = new URL(studio.url)
    const socket = connect(Number(port), hostname)
    socket.on('error', () => {})
    socket.write(
      `POST /api/crews/claims/plan HTTP/1.1\r\nHost: ${hostname}\r\nx-reprise-studio: 1\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n`,
    )
    const piece = 'x'.repeat(65_536)
    // it never says that it is at its end
    for (let size = 0; size <= bodyLimit; size += piece.length) socket.write(`10000\r\n${piece}\r\n`)
    const [answer] = (await once(socket, 'data')) as [Buffer]
    assert.match(String(answer), /^HTTP\/1\.1 413 /)
    socket.destroy()
  })

  test("is refused if it isn't JSON, isn't an object, or has unknown names", async () => {
    await using studio = await served({ crews: [claims()] })
    const at = '/crews/claims/runs'
    const refused = async (init: RequestInit): Promise<string> => {
      const { status, code } = await problemOf(await studio.send(at, init))
      return `${status} ${code}`
    }
    const text = (type: string): RequestInit => posted('{"how":"queue"}', { 'content-type': type })
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
      '',
      'application/jsonx',
    ])
      assert.equal(await refused(text(type)), '415 TYPE_REFUSED', type)
    for (const body of ['{', '', 'null', '[]', '"x"', '{"how":'])
      assert.equal(await refused(posted(body)), '400 BODY_INVALID', body)
    assert.equal(await refused(posted({ how: 'queue', signal: {} })), '400 OPTION_UNKNOWN')
    assert.equal(await refused(posted({ how: 'soon' })), '400 OPTION_INVALID')
    assert.equal(await refused(posted({})), '400 OPTION_INVALID')
    assert.equal(await refused(posted({ how: 'queue', inputs: 'x' })), '400 OPTION_INVALID')
    assert.equal(await refused(posted({ how: 'queue' })), '400 INPUT_MISSING')
    for (const wrong of [{ reuse: 'often' }, { reuse: { maxAgeSeconds: '1' } }, { delay: -1 }, { delay: 0.5 }])
      assert.equal(await refused(posted({ how: 'queue', ...wrong })), '400 OPTION_INVALID', JSON.stringify(wrong))
    const removed = await studio.send('/runs/r/resume', posted({ removed: ['book', 1] }))
    assert.match((await problemOf(removed)).message, /item 2 of removed of the body is of type number; give a string/)
    assert.deepEqual((await studio.get('GET /runs', '/runs')).runs, [])
  })
})

test('every response forbids scripts, frames and types that are not the studio’s own, and nothing of the API is kept', async () => {
  await using studio = await served({ crews: [claims()] })
  for (const path of ['', 'runs/x', 'api/studio', 'api/none', 'none.js']) {
    const { headers } = await fetch(studio.url + path)
    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'; script-src 'self';/)
    assert.doesNotMatch(policy, /unsafe|https?:|\*/)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('x-frame-options'), 'DENY')
    assert.equal(headers.get('access-control-allow-origin'), null)
    assert.match(headers.get('cache-control') ?? '', /no-store/)
  }
})

test('model text is only ever sent as JSON', async () => {
  const crew = claims()
  const evil = '<script>alert(1)</script>'
  await crew.kickoff({ id: 'r', inputs: { notes: evil } })
  await using studio = await served({ crews: [crew] })
  for (const path of ['/runs', '/runs/r', '/runs/r/entries', '/questions', `/runs/${encodeURIComponent(evil)}`]) {
    const response = await studio.send(path)
    assert.match(response.headers.get('content-type') ?? '', /^application\/json/, path)
    assert.ok((await response.text()).includes('script'), path)
  }
})

test('errors name what is wrong, without credentials, and internal errors say nothing', async () => {
  const store = memoryStore()
  const secret = 'sk-proj-0123456789abcdefghijklmnopqrstuv'
  await using studio = await served({
    store: {
      ...store,
      row: async () => {
        throw new Error(`cannot reach postgres://me:${secret}@db/claims`)
      },
    },
  })
  const unknown = await problemOf(await studio.send('/runs/r/timeline'))
  assert.deepEqual(unknown, { status: 500, code: 'INTERNAL', message: 'the studio failed unexpectedly; try again' })
  await using other = await served({ crews: [claims()] })
  const missing = await problemOf(await other.send(`/runs/${encodeURIComponent(secret)}`))
  assert.deepEqual([missing.status, missing.code], [404, 'RUN_NOT_FOUND'])
  assert.ok(!missing.message.includes(secret), missing.message)
})

test('a null byte in an address is refused by every route that looks, in the path and in the query', async () => {
  const schema = (await without('postgres')) === false ? await freshSchema() : undefined
  await using _ = schema
  for (const store of [memoryStore(), ...(schema ? [schema.url] : [])]) {
    await using crew = claims(store)
    await using studio = await served({ crews: [crew] })
    await crew.kickoff({ id: 'r', inputs: { notes: 'P-77' } })
    for (const [endpoint, route] of table) {
      const { method, path, names } = partsOf(endpoint)
      if (method !== 'GET') continue
      const plain = path.replaceAll(/\{\w+\}/g, 'r')
      const paths = names.map((name) => path.replace(`{${name}}`, 'r%00x').replaceAll(/\{\w+\}/g, 'r'))
      const queries = Object.keys(route.query ?? {}).map((name) => `${plain}?${name}=r%00x`)
      for (const asked of [...paths, ...queries, `${plain}?%00=x`]) {
        const { status, code } = await problemOf(await studio.send(asked))
        assert.deepEqual([status, code], [400, 'OPTION_INVALID'], asked)
      }
    }
    assert.equal((await fetch(`${studio.url}runs/r%00x`)).status, 400)
    const cursor = Buffer.from(JSON.stringify(['2026-01-01', 'r\u0000'])).toString('base64url')
    assert.equal((await studio.send(`/runs?cursor=${cursor}`)).status, 400)
    const inBody = await studio.send('/crews/claims/runs', posted({ how: 'queue', id: 'a\u0000b' }))
    assert.equal(inBody.status, 400)
  }
})

/** With any Host, which fetch does not send. */
async function sent(
  url: string,
  path: string,
  headers: { readonly [name: string]: string },
): Promise<{ readonly status: number | undefined }> {
  const sending = httpRequest(url + path, { headers })
  sending.end()
  const [response] = (await once(sending, 'response')) as [import('node:http').IncomingMessage]
  response.resume()
  return { status: response.statusCode }
}
