// Runs of a build with another journal format: they are listed and deleted, and refused for everything else.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { RepriseError } from 'reprise'
import { journalVersion } from 'reprise/journal'
import { openStore, type Line, type Store } from 'reprise/stores'
import { hashBytes } from '../../src/journal/hash.ts'
import { copyAll } from '../crew/copy/copy-support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { kindsHere, storePlace } from '../support/store-place.ts'
import { newStore, oneTask } from './support.ts'

const script = [{ when: 'Do it', reply: 'done', repeat: true }]
const formats = [journalVersion - 1, journalVersion + 1]

/** A run that waits for a worker, as another build would have written it. */
async function queued(store: Store, id: string, format: number): Promise<void> {
  const made = newStore()
  await oneTask({ script, store: made }).crew.enqueue({ id })
  const row = await made.row(id)
  assert.ok(row)
  let prev = ''
  const lines: Line[] = []
  for await (const { seq, bytes } of made.read(id)) {
    const entry = { ...(JSON.parse(Buffer.from(bytes).toString()) as object), v: format, incarnation: undefined, prev }
    const written = Buffer.from(JSON.stringify(entry))
    prev = hashBytes(written)
    lines.push({ seq, bytes: written })
  }
  const summary = JSON.stringify({ ...(JSON.parse(row.summary) as object), incarnation: undefined })
  await store.create({ ...row, format, summary }, { lines, row: { ...row, format, summary }, due: 'now' })
}

for (const { kind, skip } of await kindsHere('sqlite', 'file', 'postgres', 'redis')) {
  describe(`a run of another format in ${kind}`, { skip }, () => {
    for (const format of formats) {
      test(`is refused with both numbers and the remedy: ${format}`, async () => {
        await using folder = await temporaryFolder()
        await using place = await storePlace(kind, folder.path)
        const store = await openStore(place.url)
        try {
          await queued(store, 'r', format)
          const { crew } = oneTask({ script, store })
          const run = crew.run('r')
          const attempts = {
            kickoff: () => crew.kickoff({ id: 'r' }),
            enqueue: () => crew.enqueue({ id: 'r' }),
            resume: () => crew.resume('r'),
            fork: () => crew.fork({ runId: 'r' }),
            plan: () => crew.plan({ of: 'fork', runId: 'r' }),
            view: () => run.view(),
            result: () => run.result(),
            answer: () => run.answer('q1', { decision: 'approve' }),
            edit: () => run.edit('job', 'mine'),
            invalidate: () => run.invalidate('job'),
            cancel: () => run.cancel(),
            requeue: () => run.requeue(),
            diff: () => run.diff('r'),
            export: () => run.export(join(folder.path, 'r.jsonl')),
          }
          for (const [name, attempt] of Object.entries(attempts)) {
            const error = await attempt().then(
              (done: unknown) => done,
              (thrown: unknown) => thrown,
            )
            assert.ok(RepriseError.isInstance(error), `${name} is not refused`)
            assert.equal(error.code, 'JOURNAL_DAMAGED', name)
            assert.match(error.message, words(format), name)
          }
          assert.match(String((await copyAll(store, newStore()))['r']), words(format))
          // left to workers of the other build
          assert.equal((await crew.advance('r')).status, 'other')
          assert.deepEqual(await crew.resumeAll(), [])
        } finally {
          await store.close()
        }
      })

      test(`is listed, and can be deleted: ${format}`, async () => {
        await using folder = await temporaryFolder()
        await using place = await storePlace(kind, folder.path)
        const store = await openStore(place.url)
        try {
          await queued(store, 'r', format)
          const { crew } = oneTask({ script, store })
          const listed = await Array.fromAsync(crew.runs())
          assert.deepEqual(
            listed.map(({ runId, status }) => [runId, status]),
            [['r', 'queued']],
          )
          await crew.run('r').delete()
          assert.deepEqual(await Array.fromAsync(crew.runs()), [])
        } finally {
          await store.close()
        }
      })
    }
  })
}

function words(format: number): RegExp {
  return new RegExp(`has format ${format}, .* reads format ${journalVersion}; finish or delete the run with the build`)
}
