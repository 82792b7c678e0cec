// A function whose process is killed during its kickoffs repeats only the calls in flight.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openStore } from 'reprise/stores'
import type { Store } from '../../../src/stores/store.ts'
import { dieAt } from '../../crash/mortal.ts'
import { entriesOf, newStore, stateOf } from '../../engine/support.ts'
import { chatReply, openServer, sendJson } from '../../models/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { bundle } from '../../support/bundle.ts'
import { book } from './book.ts'

async function repliesIn(store: Store): Promise<number> {
  const { rows } = await store.list({ root: 'b' }, { limit: 50 })
  const journals = await Promise.all(rows.map(({ run }) => entriesOf(store, run)))
  return journals.flat().filter(({ type }) => type === 'model.replied').length
}

describe('a function that kicks off four crews', { timeout: 120_000 }, () => {
  for (const moment of ['before', 'after']) {
    test(`ends as an undisturbed one when its life ends ${moment} any entry, and pays for no recorded step twice`, async () => {
      for (let number = 1; ; number++) {
        const store = newStore()
        const scene = book({ store })
        const { crew, model, filed } = scene
        const life = await dieAt(store, { at: `${moment}:${number}` }, (mortal) =>
          crew.with({ store: mortal }).kickoff({ id: 'b' }),
        )
        const [asked, recorded] = [model.calls.length, await repliesIn(store)]
        const result = await crew.kickoff({ id: 'b' })
        assert.equal(result.status, 'completed', `${moment} ${number}: ${String(result)}`)
        assert.equal(await repliesIn(store), 13)
        assert.equal(model.calls.length - asked, 13 - recorded, `${moment} ${number}: what was not recorded is asked`)
        assert.deepEqual(new Set(filed), new Set(['one', 'two', 'three', 'four']))
        assert.equal(filed.length, 4, `${moment} ${number}: once tools are called once`)
        assert.equal(result.usage.spent.calls, 13)
        if (life.lived) break
      }
    })
  }

  test('is resumed by another process after a SIGKILL, which repeats only the calls in flight', async () => {
    await using folder = await temporaryFolder()
    const held: ServerResponse[] = []
    const half = Promise.withResolvers<void>()
    let holds = true
    const texts: string[] = []
    const server = await openServer((response, count) => {
      const text = JSON.stringify(server.received[count - 1]?.body)
      texts.push(text)
      const name = /(Draft|Polish) (\w+)/.exec(text)?.[0] ?? ''
      // the first two chapters are done by then, the others wait for their last reply
      if (holds && /Polish (three|four)/.test(name)) {
        held.push(response)
        if (held.length === 2) half.resolve()
      } else sendJson(response, 200, chatReply({ content: name }))
    })
    await using _ = server
    const program = await bundle(join(import.meta.dirname, 'book-process.ts'))
    const url = `sqlite:${join(folder.path, 'runs.db')}`
    const start = () =>
      spawn(process.execPath, [program.file, url], {
        env: { ...process.env, ...program.variables, OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: `${server.url}/v1` },
        stdio: ['ignore', 'pipe', 'inherit'],
      })
    const first = start()
    const ended = once(first, 'close')
    await half.promise
    const store = await openStore(url)
    // its replies are on disk a moment after they were sent
    for (const name of ['1', '2'])
      while (
        (await stateOf(store, `b/chapters#1/1.0/chapter-${name}#1`).catch(() => undefined))?.status !== 'completed'
      )
        await new Promise((resolve) => setImmediate(resolve))
    first.kill('SIGKILL')
    await ended
    holds = false
    assert.equal(texts.length, 8)
    const second = start()
    let said = ''
    second.stdout.on('data', (chunk: Buffer) => (said += String(chunk)))
    await once(second, 'close')
    const { status, output, usage } = JSON.parse(said) as {
      status: string
      output: string[]
      usage: { spent: { calls: number } }
    }
    assert.equal(status, 'completed')
    assert.deepEqual(output, ['Polish one', 'Polish two', 'Polish three', 'Polish four'])
    assert.equal(texts.length, 10)
    assert.deepEqual(
      texts
        .slice(8)
        .map((text) => /Polish (\w+)/.exec(text)?.[1])
        .toSorted((a = '', b = '') => (a < b ? -1 : 1)),
      ['four', 'three'],
    )
    assert.equal(usage.spent.calls, 8)
    assert.equal((await store.list({ roots: true }, { limit: 9 })).rows.length, 1)
    await store.close()
  })
})
