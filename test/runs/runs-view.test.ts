// The view `runs` of a PostgreSQL store has the same values as lists of runs.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { describe, test } from 'node:test'
import pg from 'pg'
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'
import { freshSchema } from '../support/postgres/fresh-schema.ts'
import { without } from '../support/servers/shared-server.ts'

const quiet = { info() {}, warn() {} }

interface Place extends AsyncDisposable {
  readonly url: string
  /** The name of the view, and rows of it. */
  readonly view: string
  readonly sql: (text: string) => Promise<{ readonly [column: string]: unknown }[]>
}

async function open(): Promise<Place> {
  const { url, schema, [Symbol.asyncDispose]: dispose } = await freshSchema()
  const server = new URL(url)
  server.searchParams.delete('schema')
  const client = new pg.Client({ connectionString: server.href })
  await client.connect()
  return {
    url,
    view: `${schema}.runs`,
    sql: async (text) => (await client.query<{ [column: string]: unknown }>(text)).rows,
    async [Symbol.asyncDispose]() {
      await client.end()
      await dispose()
    },
  }
}

function claims(store: string): Crew {
  const model = scriptedModel([
    { when: /break/, error: 'no power: NUL \0, half of \u{1f600} is \ud83d, and no NUL is \\u0000' },
    { when: /./, reply: 'done', usage: { input: 100, output: 7 } },
  ])
  const agent = new Agent({ role: 'Clerk', goal: 'g', model })
  return new Crew({
    name: 'claims',
    tasks: [
      new Task({ name: 'note', description: 'Please {what}', agent, humanInput: true }),
      new Task({ name: 'sum', run: () => 3 }),
    ],
    store,
    logger: quiet,
  })
}

describe('the SQL view runs', { skip: await without('postgres') }, () => {
  test('has a row per run, with the values of a list of runs', async () => {
    await using place = await open()
    await using crew = claims(place.url)
    const onQuestion = () => ({ decision: 'approve' as const })
    await crew.kickoff({ id: 'done', inputs: { what: 'note' }, onQuestion })
    await crew.kickoff({ id: 'asks', inputs: { what: 'ask' } })
    await assert.rejects(crew.kickoff({ id: 'fails', inputs: { what: 'break' } }), { code: 'MODEL_FAILED' })
    await crew.run('done').fork({ id: 'forked', from: 'sum' })
    const rows = await place.sql(`select * from ${place.view} order by created_at desc, run_id desc`)
    const listed = await crew.runs().page()
    assert.deepEqual(
      rows.map((row) => [
        row['run_id'],
        (row['created_at'] as Date).toISOString(),
        (row['updated_at'] as Date).toISOString(),
        row['done'],
        row['total'],
        row['open_questions'],
        [row['calls'], row['input_tokens'], row['output_tokens']].map(Number),
        row['forked_from'],
        row['error_code'],
      ]),
      listed.map(({ runId, createdAt, updatedAt, done, total, openQuestions, usage, parent, error }) => [
        runId,
        createdAt,
        updatedAt,
        done,
        total,
        openQuestions,
        [usage.calls, usage.input, usage.output],
        parent?.runId ?? null,
        error?.code ?? null,
      ]),
    )
    assert.deepEqual(Object.fromEntries(rows.map(({ run_id, status }) => [run_id, status])), {
      done: 'completed',
      asks: 'suspended',
      fails: 'failed',
      forked: 'completed',
    })
    assert.deepEqual(
      await place.sql(`select suspended_reason, root_id, crew from ${place.view} where run_id = 'asks'`),
      [{ suspended_reason: 'questions', root_id: 'asks', crew: 'claims' }],
    )
  })

  test('can be read by a role without other rights, and contains no contents', async () => {
    await using place = await open()
    await using crew = claims(place.url)
    await crew.kickoff({ id: 'r', inputs: { what: 'secret' } })
    const role = `reader_${process.pid}`
    const [schema] = place.view.split('.')
    await place.sql(
      `create role ${role}; grant usage on schema ${schema} to ${role}; grant select on ${place.view} to ${role}`,
    )
    try {
      await place.sql(`set role ${role}`)
      const rows = await place.sql(`select * from ${place.view}`)
      assert.equal(rows.length, 1)
      assert.doesNotMatch(JSON.stringify(rows), /secret/)
      await assert.rejects(place.sql(`select * from ${schema}.listing`), { code: '42501' })
    } finally {
      await place.sql(`reset role; drop owned by ${role}; drop role ${role}`)
    }
  })

  test('has exactly the columns that the guide lists', async () => {
    await using place = await open()
    const [, page = ''] = (await readFile('docs/guides/postgres.md', 'utf8')).split('\n## SQL for people\n')
    const [section = ''] = page.split('\n## ')
    const cells = [...section.matchAll(/^\| (`.*?) \|/gm)].map(([, cell = '']) => cell)
    const columns = cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name))
    const [schema] = place.view.split('.')
    const found = await place.sql(
      `select column_name as name from information_schema.columns where table_schema = '${schema}' and table_name = 'runs'`,
    )
    assert.deepEqual(columns.toSorted(), found.map(({ name }) => String(name)).toSorted())
  })
})
