// Processes: no server outlives the program that started it, however that ends, and a crew that is killed in the middle
// of a call of a once tool asks when it is resumed.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { mcpTools } from 'reprise/mcp'
import { isGone, testServer, until, type TestServer } from './mcp-support.ts'

const script = new URL('mcp-child.ts', import.meta.url).pathname

function start(what: string, stage: TestServer) {
  const child = spawn(
    process.execPath,
    ['--conditions=reprise-source', script, what, stage.folder, JSON.stringify(stage.server)],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  let stdout = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text))
  return { child, stdout: () => stdout, ended: once(child, 'close') }
}

const pids = (stage: TestServer): number[] => stage.log().flatMap((line) => (line.started ? [line.pid] : []))

test('a crew that is killed in the middle of a once call asks when it is resumed', async () => {
  using stage = testServer()
  const first = start('call', stage)
  await until(() => stage.log().some((line) => line.params?.name === 'wait'), 'the call')
  first.child.kill('SIGKILL')
  await first.ended
  await until(() => pids(stage).every(isGone), 'the end of the server')
  const second = start('doubt', stage)
  assert.deepEqual(await second.ended, [0, null])
  assert.equal(second.stdout(), 'suspended doubt\ncompleted done: true\nready\n')
  assert.equal(stage.log().filter((line) => line.params?.name === 'wait').length, 1, 'it was called once')
  await until(() => pids(stage).length === 2 && pids(stage).every(isGone), 'the end of both servers')
})

for (const mode of ['friendly', 'stubborn']) {
  test(`a program that ends without close() is not kept alive by a ${mode} server, and takes it along`, async () => {
    using stage = testServer({ MCP_MODE: mode })
    const { ended } = start('end', stage)
    assert.deepEqual(await ended, [0, null])
    await until(() => pids(stage).every(isGone), 'the end of the server')
  })

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(`${signal} ends a program as ever, and a ${mode} server with it`, async () => {
      using stage = testServer({ MCP_MODE: mode })
      const { child, stdout, ended } = start('idle', stage)
      await until(() => stdout() === 'ready\n', 'the program')
      child.kill(signal)
      assert.deepEqual(await ended, [null, signal])
      await until(() => pids(stage).every(isGone), 'the end of the server')
    })
  }

  test(`close() waits for the end of a ${mode} server and of what it started`, async () => {
    using stage = testServer({ MCP_MODE: mode })
    // as npx does it: a shell that starts the server and waits for it
    const [server = ''] = stage.server.args ?? []
    const mcp = await mcpTools({
      ...stage.server,
      command: '/bin/sh',
      args: ['-c', '"$0" "$1"; echo over >&2', process.execPath, server],
    })
    assert.deepEqual(pids(stage).map(isGone), [false])
    await mcp.close()
    assert.deepEqual(pids(stage).map(isGone), [true])
    assert.equal(
      stage.log().some((line) => line.ignored === 'SIGTERM'),
      mode === 'stubborn',
    )
  })
}
