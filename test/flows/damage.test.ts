// Journals of flows that were edited by hand, and malformed messages in the inbox.
import assert from 'node:assert/strict'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Flow } from 'reprise'
import { z } from 'zod'
import type { Entry } from '../../src/journal/entries.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { quiet } from './support.ts'

/** A completed run of a flow in a folder. `done`: the calls of its steps. */
async function openStage() {
  const folder = await temporaryFolder()
  const file = join(folder.path, 'r.jsonl')
  const done: string[] = []
  const work = new Flow({
    name: 'f',
    store: `file:${folder.path}`,
    logger: quiet,
    async run(flow) {
      const call = (name: string) => flow.step(name, { effect: 'read' }, () => done.push(name))
      await call('a')
      const e = await flow.event('e', z.string())
      await call('b')
      return e
    },
  })
  await work.kickoff({ id: 'r' })
  await work.run('r').send('e', 'sent')
  await work.resume('r')
  return {
    work,
    done,
    folder: folder.path,
    async remove(...gone: readonly string[]): Promise<void> {
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n')
      const kept = lines.filter((line) => {
        const { type, path = '' } = JSON.parse(line) as Entry
        return !gone.includes(`${type} ${path}`.trim())
      })
      assert.equal(kept.length, lines.length - gone.length)
      await writeFile(file, `${kept.join('\n')}\n`)
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await work.close()
      await folder[Symbol.asyncDispose]()
    },
  }
}

test('a step of a completed flow is executed again each time its completion is removed by hand', async () => {
  await using stage = await openStage()
  assert.deepEqual(stage.done, ['a', 'b'])
  await stage.remove('task.completed a#1')
  assert.equal((await stage.work.resume('r')).output, 'sent')
  await stage.remove('task.completed b#1')
  assert.equal((await stage.work.resume('r')).output, 'sent')
  assert.deepEqual(stage.done, ['a', 'b', 'a', 'b'])
  await stage.work.resume('r')
  assert.equal(stage.done.length, 4, 'a recorded edit is not taken for a new one')
})

test('a flow receives an event again if the start of its wait is removed by hand', async () => {
  await using stage = await openStage()
  await stage.remove('task.started e#1', 'run.completed')
  assert.equal((await stage.work.resume('r')).output, 'sent')
})

test('malformed events written into the inbox by hand are refused, and the flow continues', async () => {
  await using stage = await openStage()
  const { work, folder } = stage
  await stage.remove('run.completed', 'task.completed e#1', 'event.received')
  const messages = [
    { type: 'event', name: 5, value: 1 },
    { type: 'event', name: 'e' },
    { type: 'event', name: 'e', value: 'x', id: 7 },
    { type: 'event', name: 'e', value: 'right' },
  ]
  const lines = messages.map((message, index) =>
    JSON.stringify({ id: `m${index}`, at: new Date(0).toISOString(), body: JSON.stringify(message) }),
  )
  await writeFile(join(folder, 'r.inbox.jsonl'), `${lines.join('\n')}\n`)
  assert.equal((await work.resume('r')).output, 'right')
  const entries = (await readFile(join(folder, 'r.jsonl'), 'utf8')).trimEnd().split('\n')
  assert.equal(entries.filter((line) => (JSON.parse(line) as Entry).type === 'message.refused').length, 3)
})
