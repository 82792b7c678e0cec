// Invariant 9: no credential that Reprise handles is in a journal, a log or an error, even when the server echoes it.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { Agent, Crew, RepriseError, Task, tool } from 'reprise'
import { z } from 'zod'
import { environmentOf } from '../models/support.ts'

const key = 'sk-secret-4711-do-not-store'

for (const kind of ['sqlite', 'file']) {
  test(`no key or Authorization header is in a ${kind} store, the log or an error`, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reprise-keys-'))
    const seen: string[] = []
    // answers with a tool call, then with an error that repeats the request's headers back
    const server = createServer((request, response) => {
      seen.push(request.headers.authorization ?? '')
      request.resume()
      response.setHeader('content-type', 'application/json')
      if (seen.length === 1) {
        const calls = [{ id: 'c', type: 'function', function: { name: 'leak', arguments: '{}' } }]
        response.end(
          JSON.stringify({
            id: 'x',
            created: 0,
            model: 'm',
            choices: [{ index: 0, finish_reason: 'tool_calls', message: { role: 'assistant', tool_calls: calls } }],
          }),
        )
        return
      }
      response.statusCode = 401
      response.end(
        JSON.stringify({
          error: { message: `Bad key ${key} in Authorization: ${request.headers.authorization}`, type: 'auth' },
        }),
      )
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    using _ = environmentOf({ OPENAI_API_KEY: key, OPENAI_BASE_URL: base })
    const log: string[] = []
    const store = kind === 'sqlite' ? `sqlite:${join(folder, 'runs.db')}` : `file:${join(folder, 'state')}`
    const leak = tool({
      name: 'leak',
      description: 'Throws what it knows',
      effect: 'read',
      input: z.object({}),
      run: () => {
        throw new Error(`request failed with Authorization: Bearer ${key}`)
      },
    })
    const agent = new Agent({ role: 'Clerk', goal: 'Answer', tools: [leak] })
    const crew = new Crew({
      name: 'keys',
      tasks: [new Task({ name: 'job', description: 'Say it', agent })],
      store,
      logger: { info: (line) => log.push(line), warn: (line) => log.push(line) },
    })
    try {
      const error: unknown = await crew.kickoff().catch((thrown: unknown) => thrown)
      assert.ok(RepriseError.isInstance(error))
      assert.equal(error.code, 'MODEL_FAILED')
      assert.match(error.message, /401.*check OPENAI_API_KEY/)
      await crew.close()
      assert.deepEqual(seen, [`Bearer ${key}`, `Bearer ${key}`], 'the key reached the server')
      const stored = await Promise.all((await filesIn(folder)).map((file) => readFile(file, 'latin1')))
      assert.ok(stored.join('').includes('model.failed'), 'the failure is stored')
      for (const text of [...stored, log.join('\n'), inspect(error, { depth: 10 })]) {
        assert.ok(!text.includes(key), 'the key is nowhere')
        assert.ok(!/Bearer (?!\[redacted\])/i.test(text), 'nor is a bearer token')
      }
    } finally {
      server.closeAllConnections()
      server.close()
      await rm(folder, { recursive: true, force: true })
    }
  })
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}
