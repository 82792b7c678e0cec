// The responses of the API match its description, field by field.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Agent, chat, Flow } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { z } from 'zod'
import { addSchedule } from '../../src/crew/queue/added-schedules.ts'
import { table } from '../../src/studio/api/routes.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { misfits, type JsonSchema } from './fits-schema.ts'
import { briefingCrew } from './sample-crews.ts'
import { fillStore } from './sample-store.ts'
import { claims, eventsOf, posted, served, type Client } from './support.ts'

interface Description {
  readonly paths: { readonly [path: string]: { readonly [method: string]: Operation } }
  readonly components: { readonly schemas: { readonly [name: string]: JsonSchema } }
}

interface Operation {
  readonly responses: { readonly [status: string]: { readonly content: Content } }
}
type Content = { readonly [type: string]: { readonly schema: JsonSchema } }

describe('the description of the API', () => {
  test('matches the responses of every read endpoint', async () => {
    await using folder = await temporaryFolder()
    const store = `sqlite:${join(folder.path, 'runs.db')}`
    await fillStore(store)
    await using crew = claims(store, { name: 'trials' })
    const once = { onQuestion: () => ({ decision: 'approve' as const }) }
    await crew.kickoff({ id: 'old', inputs: { notes: 'P-77' }, ...once })
    await crew.backtest('facts', { id: 'trial' })
    await crew.run('old').fork({ id: 'gone', inputs: { notes: 'P-1' }, ...once })
    await crew.run('gone').fork({ id: 'left', inputs: { notes: 'P-2' }, ...once })
    await crew.run('gone').delete()
    await crew.schedule({ inputs: { notes: 'P-3' }, cron: '@daily', name: 'nightly' })
    await addSchedule(crew, { inputs: { notes: 'P-3' }, cron: '@daily', name: 'added' })
    await using briefings = briefingCrew({ store })
    await using waits = new Flow({ name: 'waits', store, run: (flow) => waitForAll(flow) })
    await waits.kickoff({ id: 'flow' })
    await waits.run('flow').send('other', { n: 1 })
    const model = scriptedModel([{ when: /./, reply: 'Hello' }])
    await using support = chat(new Agent({ role: 'Helper', goal: 'Help', model }), { name: 'support', store })
    await support.conversation('talk').send('Hello', { by: 'ada' })
    await using studio = await served({ crews: [crew, briefings, waits, support], store, by: 'Grace' })
    const description = await described(studio)
    const one = async (run: string): Promise<string[]> => {
      const { attempts } = await studio.get('GET /runs/{run}/timeline', `/runs/${run}/timeline`)
      const tasks = [...new Set(attempts.map(({ path }) => path.slice(0, path.indexOf('#'))))]
      return [
        ...parts,
        ...tasks.map((task) => `/tasks/${encodeURIComponent(task)}`),
        ...attempts
          .flatMap(({ steps }) => steps.map(({ path }) => path))
          .map((path) => `/steps/${encodeURIComponent(path)}`),
      ].map((part) => `/runs/${run}${part}`)
    }
    const list = (query: string) => studio.get('GET /runs', `/runs?children=true&limit=200${query}`)
    const runs = [...(await list('')).runs, ...(await list('&backtests=true')).runs]
    const paths = [
      ...alone,
      '/backtests/trial',
      '/crews/trials',
      '/crews/briefings',
      '/runs/talk/transcript',
      '/diff?a=old&b=left',
      '/diff?a=claim-4711&b=claim-4711-not-covered',
      ...(await Promise.all(runs.map(({ runId }) => one(encodeURIComponent(runId))))).flat(),
    ]
    const seen = new Set<string>()
    for (const path of paths) seen.add(await checked(studio, description, path))
    // it never ends
    seen.add('GET /changes')
    const looks = [...table.keys()].filter((endpoint) => endpoint.startsWith('GET '))
    assert.deepEqual([...seen].toSorted(), looks.toSorted())
  })

  test('matches the responses of actions, and errors', async () => {
    await using studio = await served({ crews: [claims()], by: 'Grace' })
    const description = await described(studio)
    const inputs = { notes: 'P-77' }
    for (const [path, body] of [
      ['/crews/claims/plan', { inputs }],
      ['/crews/claims/runs', { how: 'here', id: 'r', inputs }],
      ['/runs/r/plan', { of: 'fork', inputs: { notes: 'P-1' } }],
      ['/runs/r/questions/q1', { decision: 'approve' }],
      ['/runs/r/fork', { id: 'f', inputs: { notes: 'P-1' } }],
      ['/runs/f/cancel', {}],
      ['/runs/none/cancel', {}],
      ['/runs/f/events', { name: 'go' }],
      ['/crews/claims/backtests/plan', { task: 'facts' }],
      ['/crews/claims/backtests', { task: 'facts', id: 'b' }],
    ] as const) {
      await checked(studio, description, path, body)
      if (path.endsWith('/runs') || path.endsWith('/fork'))
        await eventsOf(
          await studio.send(`/runs/${path.endsWith('/runs') ? 'r' : 'f'}/events`),
          ({ type }) => type === 'end',
        )
    }
  })
})

function waitForAll(flow: Parameters<ConstructorParameters<typeof Flow>[0]['run']>[0]): Promise<unknown> {
  return Promise.allSettled([
    flow.step('made', { effect: 'read', input: { n: 1 } }, () => 'x'),
    flow.step('fails', { effect: 'read' }, () => Promise.reject(new Error('no'))),
    flow.ask('sure', { text: 'Sure?', about: [1] }, z.boolean()),
    flow.event('go', z.null(), { key: 1, timeout: { hours: 1 } }),
  ])
}

/** The endpoints of a run. */
const parts = ['', '/tasks', '/timeline', '/entries', '/children', '/lineage', '/spending', '/events']

/** Paths without anything in braces. */
const alone = ['/studio', '/openapi.json', '/questions', '/runs', '/backtests', '/crews', '/schedules', '/queue']

async function described(studio: Client): Promise<Description> {
  return (await studio.get('GET /openapi.json', '/openapi.json')) as unknown as Description
}

/** The endpoint that a path is of, after holding what it answers against the description. */
async function checked(studio: Client, description: Description, path: string, body?: object): Promise<string> {
  const method = body ? 'POST' : 'GET'
  const [bare = ''] = path.split('?')
  const [pattern, methods] =
    Object.entries(description.paths).find(([each]) => fits(each, bare)) ?? assert.fail(`${path} is not described`)
  const response = await studio.send(path, body && posted(body))
  const { content } = methods[method.toLowerCase()]?.responses[response.ok ? '200' : 'default'] ?? assert.fail(path)
  const [type = '', { schema } = {} as never] = Object.entries(content)[0] ?? []
  assert.ok(
    response.headers.get('content-type')?.startsWith(type),
    `${path} is ${response.headers.get('content-type')}`,
  )
  const values =
    type === 'text/event-stream'
      ? (await eventsOf(response, ({ type: name }) => name === 'caught-up')).map(({ type: name, data }) => ({
          ...(data as object),
          type: name,
        }))
      : [await response.json()]
  assert.ok(values.length > 0)
  for (const value of values) assert.deepEqual(misfits(value, schema, description.components.schemas, path), [])
  return `${method} ${pattern}`
}

function fits(pattern: string, path: string): boolean {
  return new RegExp(`^${pattern.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path)
}
