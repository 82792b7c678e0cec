// Invariants 1, 2, 3 and 6: a run killed at any moment goes on in another process, repeats nothing that was recorded, never runs
// a `once` tool twice, and ends as an undisturbed one. Kills are real; calls are counted at the model server, effects in a file.
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { readRun } from '../../src/engine/read-run.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { crew, effects } from './crew.ts'
import { openModelServer, requestsOf } from './model-server.ts'

const modelCalls = 8
const toolCalls = 6
const child = new URL('child.ts', import.meta.url).pathname

let server: Awaited<ReturnType<typeof openModelServer>>
let folder: string
before(async () => {
  server = await openModelServer(10)
  folder = await mkdtemp(join(tmpdir(), 'reprise-crash-'))
})
after(async () => {
  await server[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

interface Life {
  readonly status?: string
  readonly outputs?: unknown
  readonly appends?: number
  readonly questions?: string[]
  readonly killed: boolean
  /** Milliseconds from when it was about to kick off. */
  readonly took: number
}

interface Place {
  readonly run: string
  readonly url: string
  readonly folder: string
}

async function place(kind: string, run: string): Promise<Place> {
  const own = join(folder, run)
  await mkdir(own)
  return { run, folder: own, url: kind === 'sqlite' ? `sqlite:${join(own, 'runs.db')}` : `file:${join(own, 'state')}` }
}

/** One process. `kill` is called when it is about to kick off. */
async function live(
  { url, run, folder: own }: Place,
  killAt = '',
  kill?: (process: ChildProcess) => void,
): Promise<Life> {
  const process_ = spawn(process.execPath, ['--conditions=reprise-source', child, url, run, killAt], {
    env: { ...process.env, OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: `${server.url}/v1`, EFFECTS_FOLDER: own },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  let complained = ''
  let readyAt = 0
  process_.stdout.on('data', (chunk: Buffer) => {
    if (said === '') {
      readyAt = performance.now()
      kill?.(process_)
    }
    said += String(chunk)
  })
  process_.stderr.on('data', (chunk: Buffer) => (complained += String(chunk)))
  const [code, signal] = (await once(process_, 'close')) as [number | null, string | null]
  const took = performance.now() - readyAt
  if (signal === 'SIGKILL') return { killed: true, took }
  assert.equal(code, 0, complained)
  return { ...(JSON.parse(said.split('\n').at(-2) ?? '') as Omit<Life, 'killed' | 'took'>), killed: false, took }
}

/** Goes on until the run is completed, answering doubts as a person would: by looking at what happened. */
async function finish(at: Place): Promise<Life> {
  for (;;) {
    const ended = await live(at)
    if (ended.status !== 'suspended') return ended
    await using person = crew.with({ store: at.url })
    for (const question of ended.questions ?? []) {
      const happened = effects(at.folder).some((line) => line.startsWith('notify '))
      await person.answer(at.run, question, happened ? { decision: 'happened', result: 'sent' } : { decision: 'run' })
    }
  }
}

/** What the journal holds: replies, and tool calls that have an outcome. */
async function recorded({ url, run }: Place): Promise<{ replies: number; returned: number }> {
  const store = await openStore(url)
  try {
    if (!(await store.row(run))) return { replies: 0, returned: 0 }
    const turns = [...(await readRun(store, run)).state.attempts.values()].flatMap((attempt) => attempt.turns)
    return {
      replies: turns.length,
      returned: turns.flatMap((turn) => turn.calls).filter((call) => call.outcome).length,
    }
  } finally {
    await store.close()
  }
}

async function checkDisturbed(at: Place, undisturbed: Life): Promise<void> {
  const done = await recorded(at)
  const asked = requestsOf(server, at.run)
  const ended = await finish(at)
  assert.deepEqual(ended.outputs, undisturbed.outputs)
  assert.equal(requestsOf(server, at.run) - asked, modelCalls - done.replies, 'model calls after the kill')
  const traces = effects(at.folder)
  for (const tool of ['file_claim', 'notify']) {
    assert.equal(traces.filter((line) => line.startsWith(`${tool} `)).length, 1, `${tool} ran once`)
  }
  assert.equal(new Set(traces).size, toolCalls, 'no call was made under a new key')
  // two calls at most can have been in flight at the kill: the parallel ones
  assert.ok(traces.length <= toolCalls + 2, `${traces.length} effects`)
  assert.ok(traces.length <= toolCalls * 2 - done.returned, 'nothing that was recorded ran again')
  const all = await recorded(at)
  assert.deepEqual(all, { replies: modelCalls, returned: toolCalls })
}

for (const kind of ['sqlite', 'file']) {
  describe(`a crew on ${kind}`, { concurrency: 2 }, () => {
    let undisturbed: Life
    before(async () => {
      const at = await place(kind, `${kind}-undisturbed`)
      undisturbed = await live(at)
      assert.equal(undisturbed.status, 'completed')
      assert.equal(requestsOf(server, at.run), modelCalls)
      assert.equal(effects(at.folder).length, toolCalls)
    })

    // the number of appends is checked below, so that none is left out
    for (let number = 1; number <= 26; number++) {
      for (const moment of ['before', 'after']) {
        test(`ends as an undisturbed one when killed ${moment} append ${number}`, async () => {
          const at = await place(kind, `${kind}-${moment}-${number}`)
          assert.ok((await live(at, `${moment}:${number}`)).killed, 'it was killed')
          await checkDisturbed(at, undisturbed)
        })
      }
    }

    test('has been killed at every append there is', () => {
      assert.equal(undisturbed.appends, 26)
    })

    // one random moment in each fiftieth of the time that an undisturbed run takes
    for (let number = 0; number < 50; number++) {
      const share = (number + Math.random()) / 50
      test(`ends as an undisturbed one when killed at a random moment (${share.toFixed(3)} of a run)`, async () => {
        const at = await killedAfter(kind, `${kind}-random-${number}`, share * undisturbed.took)
        await checkDisturbed(at, undisturbed)
      })
    }
  })
}

/** A run whose process was killed so many milliseconds behind its start; earlier, if it was faster than that. */
async function killedAfter(kind: string, name: string, milliseconds: number): Promise<Place> {
  for (let wait = milliseconds, tries = 1; ; wait *= 0.7, tries++) {
    const at = await place(kind, `${name}-${tries}`)
    const life = await live(at, '', (process_) => void setTimeout(() => process_.kill('SIGKILL'), wait))
    if (life.killed) return at
  }
}
