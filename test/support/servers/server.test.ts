import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { setTimeout as passes } from 'node:timers/promises'
import pg from 'pg'
import { freshSchema } from '../postgres/fresh-schema.ts'
import { startServer } from './server.ts'
import { without } from './shared-server.ts'

describe('the PostgreSQL server of the tests', { skip: await without('postgres') }, () => {
  test('a server that was killed and started again has the same port and all committed data', async () => {
    await using server = await startServer('postgres')
    await ask(server.url, 'create table kept (number int)')
    await ask(server.url, 'insert into kept values (7)')
    const before = (await server.look()).pid
    await server.kill()
    assert.equal((await server.look()).pid, undefined)
    await assert.rejects(ask(server.url, 'select 1'), { code: 'ECONNREFUSED' })
    await server.start()
    assert.notEqual((await server.look()).pid, before)
    assert.deepEqual(await ask(server.url, 'select number from kept'), [{ number: 7 }])
  })

  test('a server and its folder are gone when the process that started it is killed with SIGKILL', async () => {
    const program = `
      import { startServer } from '${new URL('server.ts', import.meta.url).href}'
      const server = await startServer('postgres')
      const { pid } = await server.look()
      console.log(JSON.stringify({ pid, folder: server.folder }))
      setInterval(() => undefined, 1000)`
    const parent = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = (await once(createInterface({ input: parent.stdout }), 'line')) as [string]
    const { pid, folder } = JSON.parse(line) as { pid: number; folder: string }
    assert.ok(existsSync(join(folder, 'data/postmaster.pid')))
    parent.kill('SIGKILL')
    while (isThere(pid) || existsSync(folder)) await passes(20)
  })

  test('a schema is empty when another test reuses it', async () => {
    const used = await fill()
    await using next = await freshSchema()
    assert.equal(next.schema, used)
    assert.deepEqual(await ask(next.url, `select count(*)::int as count from ${next.schema}.entries`), [{ count: 0 }])
  })
})

async function fill(): Promise<string> {
  await using own = await freshSchema()
  await ask(own.url, `insert into ${own.schema}.entries values (1, 1, 'line')`)
  return own.schema
}

async function ask(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<object>(sql)
    return rows
  } finally {
    await client.end()
  }
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
