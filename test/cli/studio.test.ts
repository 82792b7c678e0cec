import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freshPrefix } from '../support/redis/fresh-prefix.ts'
import { without } from '../support/servers/shared-server.ts'
import { claims, project, type Started } from './support.ts'

const withoutRedis = await without('redis')

async function urlOf(started: Started): Promise<string> {
  await started.says('Ctrl-C stops it')
  const { stdout } = started.child
  let text = ''
  for await (const piece of stdout?.iterator({ destroyOnReturn: false }) ?? []) {
    text += String(piece)
    if (text.includes('\n')) break
  }
  return text.trim()
}

describe('reprise studio', () => {
  test('serves the crew of the folder on this machine until it is stopped, and prints the address', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', 'crew.ts', '--id', 'r', '--input', 'notes=x', '--input', 'tone=calm')
    const started = folder.start(['studio', '--port', '0', '--by', 'Ada'])
    const url = await urlOf(started)
    assert.match(url, /^http:\/\/127\.0\.0\.1:\d+\/$/)
    const shown = (await (await fetch(`${url}api/studio`)).json()) as { crews: string[]; by: string }
    assert.deepEqual([shown.crews, shown.by], [['claims'], 'Ada'])
    const run = (await (await fetch(`${url}api/runs/r`)).json()) as { status: string; code: boolean }
    assert.deepEqual([run.status, run.code], ['completed', true])
    started.child.kill('SIGINT')
    assert.equal((await started.ended()).code, 0)
  })

  test('serves a store without code to clients with a token', async () => {
    await using folder = await project(claims)
    await folder.reprise('run', 'crew.ts', '--id', 'r', '--input', 'notes=x', '--input', 'tone=calm')
    const token = 'look-look-look-look'
    const started = folder.start(['studio', '--no-crews', '--port', '0', '--host', '0.0.0.0', '--json'], {
      REPRISE_STUDIO_TOKEN: `look=${token}`,
    })
    const { url, crews } = JSON.parse(await urlOf(started)) as { url: string; crews: string[] }
    assert.deepEqual(crews, [])
    const at = `http://127.0.0.1:${new URL(url).port}/api/studio`
    assert.equal((await fetch(at)).status, 401)
    const response = await fetch(at, { headers: { authorization: `Bearer ${token}` } })
    assert.equal(((await response.json()) as { role: string }).role, 'look')
    started.child.kill('SIGTERM')
    assert.equal((await started.ended()).code, 0)
  })

  test('starts before the first run in a store that is named', async () => {
    await using folder = await project(claims)
    const started = folder.start(['studio', '--no-crews', '--store', 'sqlite:new.db', '--port', '0'])
    const { runs } = (await (await fetch(`${await urlOf(started)}api/runs`)).json()) as { runs: unknown[] }
    assert.deepEqual(runs, [])
    started.child.kill('SIGINT')
    assert.equal((await started.ended()).code, 0)
  })

  test('starts before the first run on a server', { skip: withoutRedis }, async () => {
    await using place = await freshPrefix()
    await using folder = await project(claims)
    const started = folder.start(['studio', '--no-crews', '--store', place.url, '--port', '0'])
    const { runs } = (await (await fetch(`${await urlOf(started)}api/runs`)).json()) as { runs: unknown[] }
    assert.deepEqual(runs, [])
    started.child.kill('SIGINT')
    assert.equal((await started.ended()).code, 0)
  })

  test('refuses a public address without a token, and a start without runs or code', async () => {
    await using folder = await project(claims)
    const open = await folder.reprise('studio', '--host', '0.0.0.0')
    assert.equal(open.code, 2)
    assert.match(open.stderr, /there are no tokens/)
    const empty = await folder.reprise('studio', '--no-crews')
    assert.equal(empty.code, 5)
    assert.match(empty.stderr, /there are no runs in/)
    const taken = await folder.reprise('studio', '--token', 'short')
    assert.equal(taken.code, 2)
  })
})
