// Invariants 1, 2, 3 and 6: a run killed at any moment continues in another process, repeats no recorded step, never
// calls a `once` tool twice, and ends as an undisturbed run. A life ends at every append here, and at many a process
// (matrix.ts). Calls are counted at the model server, effects in a file.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { isFull } from '../support/full.ts'
import { shareOf } from '../support/share.ts'
import { isServer, kindsHere, type StoreKind } from '../support/store-place.ts'
import { effects } from './effects.ts'
import { journalOf, openHarness, type Harness, type Life, type Place, type ProcessLife } from './harness.ts'
import { killsByProcess, pointsOver } from './matrix.ts'

const modelCalls = 8
const toolCalls = 6
const kinds = await kindsHere('sqlite', 'file', 'postgres', 'redis')

let harness: Harness
before(async () => {
  harness = await openHarness()
})
after(() => harness[Symbol.asyncDispose]())

/** What the journal holds: replies, and tool calls that have an outcome. */
async function recorded(at: Place): Promise<{ replies: number; returned: number }> {
  const { state } = await journalOf(at)
  const turns = [...(state?.attempts.values() ?? [])].flatMap((attempt) => attempt.turns)
  return { replies: turns.length, returned: turns.flatMap((turn) => turn.calls).filter((call) => call.outcome).length }
}

async function checkDisturbed(at: Place, undisturbed: Life): Promise<void> {
  const done = await recorded(at)
  const asked = harness.requests(at.run).length
  const ended = await harness.finish(at)
  assert.deepEqual(ended.outputs, undisturbed.outputs)
  assert.equal(harness.requests(at.run).length - asked, modelCalls - done.replies, 'model calls after the kill')
  const traces = effects(at.run)
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

async function killTogether(kind: StoreKind, points: readonly string[]): ReturnType<Harness['killTogether']> {
  const deaths = points.map(async (killAt) => ({
    at: await harness.place('claims', `${kind}-${killAt.replace(':', '-')}`, kind),
    killAt,
  }))
  return await harness.killTogether(await Promise.all(deaths))
}

for (const { kind, skip } of kinds) {
  const title = `a crew on ${kind}`
  describe(title, { concurrency: 2, skip }, () => {
    let undisturbed: ProcessLife
    before(async () => {
      const at = await harness.place('claims', `${kind}-undisturbed`, kind)
      undisturbed = await harness.start(at).ended
      assert.equal(undisturbed.status, 'completed')
      assert.equal(harness.requests(at.run).length, modelCalls)
      assert.equal(effects(at.run).length, toolCalls)
    })

    // the number of entries is checked below, so that none is left out
    const all = Array.from({ length: 28 }, (_, index) => [`before:${index + 1}`, `after:${index + 1}`]).flat()
    const points = pointsOver(title, kind, all)
    for (const point of points) {
      test(`ends as an undisturbed run when its life ends ${point.replace(':', ' entry ')}`, async () => {
        const at = await harness.place('claims', `${kind}-over-${point.replace(':', '-')}`, kind)
        assert.ok((await harness.dieHere(at, point)).killed, 'it was over')
        await checkDisturbed(at, undisturbed)
      })
    }

    for (const together of killsByProcess(title, kind, points)) {
      let killed: ReturnType<typeof killTogether> | undefined
      for (const [index, point] of together.entries()) {
        test(`ends as an undisturbed run when its process is killed ${point.replace(':', ' entry ')}`, async () => {
          const { at, life } = (await (killed ??= killTogether(kind, together)))[index] ?? assert.fail()
          assert.ok(life.killed, 'it was killed')
          await checkDisturbed(at, undisturbed)
        })
      }
    }

    test('has been killed at every entry', () => {
      assert.equal(undisturbed.recorded, 28)
    })

    // one moment in each of so many parts of the time that an undisturbed run takes
    const moments = isFull ? (isServer(kind) ? 20 : 50) : isServer(kind) ? 2 : 5
    for (let number = 0; number < moments; number++) {
      const share = (number + shareOf(`${title}, moment ${number}`, 1000) / 1000) / moments
      test(`ends as an undisturbed run when killed at any moment (${share.toFixed(3)} of a run)`, async () => {
        const run = `${kind}-random-${number}`
        const fresh = async (tries: number): Promise<Place[]> => [
          await harness.place('claims', `${run}-${tries}`, kind),
        ]
        const [at] = await harness.killedAfter(fresh, share * undisturbed.took)
        assert.ok(at)
        await checkDisturbed(at, undisturbed)
      })
    }
  })
}
