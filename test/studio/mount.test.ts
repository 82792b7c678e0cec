// A studio within a server of the user's own: hono, node:http, and a route handler as Next.js has them.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { studio } from 'reprise/studio'
import { gate, speakingCrew, speakingModel } from '../crew/runs/speaking-model.ts'
import { claims, clientOf, eventsOf, posted } from './support.ts'
import type { Role } from '../../src/studio/api/contract.ts'

const authorize = ({ headers }: Request): Role | undefined =>
  headers.get('x-user') === 'ada' ? 'act' : headers.has('x-user') ? 'look' : undefined

test('a studio in hono, beside the routes of an app, answers users of the app', async () => {
  await using own = studio({ crews: [claims()], base: '/admin/studio', authorize })
  const app = new Hono()
  app.get('/', (context) => context.text('the app'))
  app.all('/admin/studio/*', (context) => own.fetch(context.req.raw))
  const server = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' })
  if (!server.listening) await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  try {
    assert.equal(await (await fetch(url)).text(), 'the app')
    assert.equal((await fetch(`${url}/admin/studio/api/studio`)).status, 401)
    const ada = clientOf(`${url}/admin/studio/`, { 'x-user': 'ada' })
    assert.equal((await ada.get('GET /studio', '/studio')).role, 'act')
    const page = await fetch(`${url}/admin/studio/runs/x`)
    assert.match(await page.text(), /<base href="\/admin\/studio\/">/)
  } finally {
    server.close()
  }
})

test('a studio in node:http streams a run that the app itself executes, with its model text', async () => {
  const [asked, go] = [gate(), gate()]
  const crew = speakingCrew(speakingModel(() => (asked.open(), ['Once ', go.wait, 'upon'])))
  await using own = studio({ crews: [crew], authorize })
  const server = createServer((request, response) => void own.listener(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const bob = clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { 'x-user': 'bob' })
  try {
    const run = await crew.kickoff({ id: 'r' }).started
    run.events()
    const events = await eventsOf(await bob.send('/runs/r/events'), ({ type }) => {
      if (type === 'text.delta' || type === 'caught-up') go.open()
      return type === 'end'
    })
    await asked.wait
    const types = events.map(({ type }) => type)
    assert.ok(types.includes('text.delta'), types.join())
    assert.equal((await bob.send('/runs/r/cancel', posted({}))).status, 403)
  } finally {
    server.close()
    server.closeAllConnections()
  }
})

test('a studio as a route handler is a function from a request to a response, behind a proxy with TLS', async () => {
  await using own = studio({ crews: [claims()], base: '/studio', authorize })
  // app/studio/[[...path]]/route.ts
  const GET = (request: Request): Promise<Response> => own.fetch(request)
  const POST = GET
  const shown = await GET(new Request('http://app.example/studio/api/crews', { headers: { 'x-user': 'ada' } }))
  assert.equal(shown.status, 200)
  const headers = {
    'content-type': 'application/json',
    'x-user': 'ada',
    host: 'app.example',
    origin: 'https://app.example',
  }
  const body = JSON.stringify({ inputs: { notes: 'x' } })
  const plan = (origin: string): Promise<Response> =>
    POST(
      new Request('http://app.example/studio/api/crews/claims/plan', {
        method: 'POST',
        headers: { ...headers, origin },
        body,
      }),
    )
  assert.equal((await plan('https://app.example')).status, 200)
  assert.equal((await plan('https://evil.example')).status, 403)
  assert.equal((await GET(new Request('http://app.example/elsewhere'))).status, 404)
})

test('a studio without authorize and without tokens answers only this machine', async () => {
  await using own = studio({ crews: [claims()] })
  assert.equal((await own.fetch(new Request('http://app.example/api/studio'))).status, 403)
  assert.equal((await own.fetch(new Request('http://localhost:3000/api/studio'))).status, 200)
})

test('unknown and invalid options of a studio are refused at once', () => {
  assert.throws(() => studio({ crew: claims() } as never), { code: 'OPTION_UNKNOWN' })
  for (const options of [
    { crews: [1] },
    { base: 'studio' },
    { base: '/a/../b' },
    { allowHosts: 'x' },
    { by: '' },
    { authorize: 1 },
  ])
    assert.throws(() => studio(options as never), { code: 'OPTION_INVALID' }, JSON.stringify(options))
})
