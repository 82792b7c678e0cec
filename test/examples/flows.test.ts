// The flows among the examples, each killed again and again: real processes get a real SIGKILL, over SQLite. Requests
// are counted at a model server of each life's own; effects are lines of files.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readRun } from '../../src/read/read-run.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { openModel, run } from './support.ts'

/** Each with its step that must not happen twice. */
const examples = {
  'content-creator': 'save',
  'email-responder': 'reply',
  'lead-score': 'send',
  'meeting-assistant': 'tell-team',
  'self-evaluation-loop': 'publish',
  'write-a-book': 'save',
}

/** The most model calls of a flow that are in flight at once. */
const concurrency = 4

interface Life {
  /** Undefined if the process was killed. */
  readonly outcome: { readonly result: unknown; readonly status: string; readonly entries: number } | undefined
  readonly requests: number
}

async function live(example: string, folder: string, settings: object = {}): Promise<Life> {
  await using model = await openModel(`flows/fixtures/${example}.json`)
  const { code, signal, stdout, stderr } = await run(
    'test/examples/mortal-flow.ts',
    [example, JSON.stringify(settings)],
    folder,
    model.environment,
  )
  assert.ok(code === 0 || signal === 'SIGKILL', `${example}: ${stderr}`)
  const last = stdout.trim().split('\n').at(-1) ?? ''
  return {
    outcome: code === 0 ? (JSON.parse(last) as Life['outcome']) : undefined,
    requests: model.messages().length,
  }
}

/** The replies that are recorded in all runs of the folder, and how often each step was completed. */
async function recordedIn(folder: string): Promise<{ replies: number; repeated: string[] }> {
  const store = await openStore(`sqlite:${join(folder, 'runs.db')}`)
  const steps: string[] = []
  let replies = 0
  try {
    const { rows } = await store.list({}, { limit: 1000 })
    for (const { run: id } of rows) {
      await readRun(store, id, ({ type, path }) => {
        if (type === 'model.replied') replies += 1
        if (type === 'task.completed') steps.push(`${id} ${path}`)
      })
    }
  } finally {
    await store.close()
  }
  return { replies, repeated: steps.filter((step, index) => steps.indexOf(step) !== index) }
}

/** What the flow has done to the world: the lines of its files, without idempotency keys, which differ in every run. */
async function effectsIn(folder: string): Promise<string[]> {
  const files = await readdir(join(folder, '.reprise'))
  const lines = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(folder, '.reprise', file), 'utf8')
      return text.split('\n').map((line) => `${file}: ${file.endsWith('.txt') ? line.replace(/^\S+ /, '') : line}`)
    }),
  )
  return lines.flat().toSorted()
}

describe('an example of a flow', { concurrency: 2 }, () => {
  for (const [example, once] of Object.entries(examples)) {
    test(`${example} ends as undisturbed when it is killed again and again, and repeats nothing that is recorded`, async () => {
      await using calm = await temporaryFolder()
      const { outcome: expected, requests } = await live(example, calm.path)
      assert.ok(expected)

      await using folder = await temporaryFolder()
      const perLife = Math.ceil(expected.entries / 4)
      let kills = 0
      let known = 0
      for (;;) {
        const moment = kills % 2 === 0 ? 'before' : 'after'
        const killAt = `${moment}:${perLife + (kills % 3)}`
        const life = await live(example, folder.path, { killAt, once })
        const { replies, repeated } = await recordedIn(folder.path)
        const lost = life.requests - (replies - known)
        assert.deepEqual(repeated, [])
        assert.ok(lost >= 0 && lost <= (life.outcome ? 0 : concurrency), `life ${kills + 1} lost ${lost} replies`)
        known = replies
        if (life.outcome) {
          assert.deepEqual([life.outcome.result, life.outcome.status], [expected.result, 'completed'])
          break
        }
        kills += 1
        assert.ok(kills < 20, 'every life advances')
      }
      assert.ok(kills >= 4, `${kills} kills`)
      assert.ok(existsSync(join(folder.path, 'killed-after-work')))
      assert.equal(known, requests)
      assert.deepEqual(await effectsIn(folder.path), await effectsIn(calm.path))
    })
  }
})

test('the router takes each of its ways', async () => {
  const routes = { blog: 'An article on spelt, please', report: 'A report on oats, please' }
  const contents = { blog: 'Spelt is old.', report: 'Oats grow where it rains.' }
  for (const [format, request] of Object.entries(routes)) {
    await using own = await temporaryFolder()
    const { outcome } = await live('content-creator', own.path, { inputs: { request } })
    assert.deepEqual(outcome?.result, { format, content: contents[format as 'blog'] })
  }
})

test('the loop ends at its limit, and a person has the last word', async () => {
  await using folder = await temporaryFolder()
  const inputs = { topic: 'our new opening hours', rounds: 2 }
  const { outcome } = await live('self-evaluation-loop', folder.path, { inputs })
  assert.equal(outcome?.result, 'published: Open from 7, every day. Come early: the rolls are warm.')
})
