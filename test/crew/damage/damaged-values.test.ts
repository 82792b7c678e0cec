// A value stored beside a journal was changed by hand: it is never used, and the run can still be listed and deleted.
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { Agent, Crew, file, Task } from 'reprise'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { refusal } from '../../engine/support.ts'
import { temporaryFolder } from '../../stores/temporary-folder.ts'

const stores = {
  file: {
    url: (folder: string) => `file:${folder}`,
    async change(folder: string, change: (text: string) => string) {
      const blobs = join(folder, 'r.blobs')
      for (const name of await readdir(blobs)) {
        await writeFile(join(blobs, name), change(await readFile(join(blobs, name), 'utf8')))
      }
    },
  },
  sqlite: {
    url: (folder: string) => `sqlite:${join(folder, 'runs.db')}`,
    async change(folder: string, change: (text: string) => string) {
      const database = new DatabaseSync(join(folder, 'runs.db'))
      for (const { hash, bytes } of database.prepare('select hash, bytes from blobs').all()) {
        const changed = Buffer.from(change(Buffer.from(bytes as Uint8Array).toString()))
        database.prepare('update blobs set bytes = ? where hash = ?').run(changed, hash as string)
      }
      database.close()
    },
  },
}

for (const [kind, { url, change }] of Object.entries(stores)) {
  const open = (folder: string) => {
    const model = scriptedModel([{ when: '', reply: 'fine' }])
    const agent = new Agent({ role: 'A', goal: 'g', model })
    const tasks = ['first', 'second'].map((name) => new Task({ name, description: `Do {topic}`, agent }))
    return { crew: new Crew({ name: 'c', tasks, store: url(folder), logger: { info() {}, warn() {} } }), model }
  }

  for (const [what, spoil] of [
    ['changed', (text: string) => text.replace('Do rain', 'Do harm')],
    ['broken', (text: string) => text.slice(0, 20)],
  ] as const) {
    test(`a pinned prompt that was ${what} in ${kind}: is not used, and the error says why`, async () => {
      await using folder = await temporaryFolder()
      const { crew, model } = open(folder.path)
      await crew.kickoff({ id: 'r', inputs: { topic: 'rain' }, through: 'first' })
      await crew.close()
      await change(folder.path, spoil)

      const { crew: later } = open(folder.path)
      const error = await refusal(() => later.resume('r'))
      assert.equal(error.code, 'JOURNAL_DAMAGED')
      assert.match(
        error.message,
        /the stored value \S+, which entry 2 of run r refers to, is not as it was written; restore/,
      )
      assert.equal(model.calls.length, 1)
      const exported = await refusal(() => later.run('r').export(join(folder.path, 'out')))
      assert.equal(exported.code, 'JOURNAL_DAMAGED')
      assert.deepEqual(
        (await later.runs().page()).map(({ runId, inputs }) => ({ runId, inputs })),
        [{ runId: 'r', inputs: { topic: 'rain' } }],
      )
      await later.run('r').delete()
      assert.deepEqual(await later.runs().page(), [])
      await later.close()
    })
  }

  test(`inputs that were changed in ${kind}: leave the run listed and deletable`, async () => {
    await using folder = await temporaryFolder()
    const { crew } = open(folder.path)
    await crew.kickoff({ id: 'r', inputs: { topic: 'rain'.repeat(20_000) } })
    await change(folder.path, (text) => text.replace('rain', 'hail'))
    assert.deepEqual(
      (await crew.runs().page()).map(({ runId, inputs }) => ({ runId, inputs })),
      [{ runId: 'r', inputs: {} }],
    )
    await crew.run('r').delete()
    assert.deepEqual(await crew.runs().page(), [])
    await crew.close()
  })

  test(`an input file that was changed in ${kind}: never reaches a task`, async () => {
    await using folder = await temporaryFolder()
    const read = new Task({
      name: 'read',
      effect: 'read',
      run: async ({ readFile: get }) => String(await get('a.txt')),
    })
    const crew = new Crew({
      name: 'c',
      tasks: [new Task({ name: 'wait', effect: 'read', run: () => 'ready' }), read],
      store: url(folder.path),
    })
    const inputs = { paper: file(Buffer.from('as given'), { name: 'a.txt' }) }
    await crew.kickoff({ id: 'r', inputs, through: 'wait' })
    await change(folder.path, (text) => text.replace('as given', 'as forged'))
    const error = await refusal(() => crew.resume('r'))
    assert.match(error.message, /the file a\.txt \(\S+\) of run r is not as it was written/)
    await crew.close()
  })
}
