// Invariants 2, 3 and 6 for flows: a flow that is killed at any moment, on any store, ends as an undisturbed one,
// repeats no recorded step, and makes no `once` call twice. Also in workers that are killed at random.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import { isFull } from '../support/full.ts'
import { shareOf } from '../support/share.ts'
import { isServer, kindsHere, type StoreKind } from '../support/store-place.ts'
import { startFleet } from '../workers/fleet.ts'
import { isOnce, placeOf } from './big-flow.ts'
import { effects } from './effects.ts'
import { journalsOf, openHarness, type Harness, type Journal, type Life, type Place } from './harness.ts'

/** Number of entries of an undisturbed run with its child runs, per life. The first life ends with open questions. */
const lives = [187, 21]
const kinds = await kindsHere('sqlite', 'file', 'postgres', 'redis')

interface Undisturbed {
  readonly took: readonly number[]
  readonly recorded: readonly number[]
  readonly output: object
  readonly places: ReadonlySet<string>
  readonly requests: number
}

let harness: Harness
let undisturbed: Undisturbed
before(async () => {
  harness = await openHarness()
  const at = await harness.place('flow', 'undisturbed')
  const [lived = []] = await harness.liveToTheEnd([at])
  undisturbed = {
    took: lived.map(({ took }) => took),
    recorded: lived.map(({ recorded = 0 }) => recorded),
    output: outputOf(lived.at(-1)),
    places: new Set(effects(at.run).map(plain)),
    requests: harness.requests(at.run).length,
  }
  assert.equal(lived.at(-1)?.status, 'completed')
  checkOnce(at)
})
after(() => harness[Symbol.asyncDispose]())

test('an undisturbed flow writes as many entries per life as the crash points assume', () => {
  assert.deepEqual(undisturbed.recorded, lives)
})

interface Point {
  readonly life: number
  readonly moment: string
  readonly number: number
}

const everyPoint = lives.flatMap((recorded, life) =>
  Array.from({ length: recorded * 2 }, (_, index): Point => ({
    life,
    moment: index % 2 === 0 ? 'before' : 'after',
    number: Math.floor(index / 2) + 1,
  })),
)

/** Selects one in `of` points by a hash, so that the same points are tested everywhere. */
const oneOf = (title: string, of: number): Point[] =>
  everyPoint.filter((point) => shareOf(`${title} ${JSON.stringify(point)}`, of) === 0)

for (const { kind, skip } of kinds) {
  const title = `a flow on ${kind}`
  describe(title, { concurrency: 2, skip }, () => {
    const over = oneOf(`${title}, over`, isFull ? (isServer(kind) ? 3 : 1) : isServer(kind) ? 80 : 40)
    for (const { life, moment, number } of over) {
      test(`${title} ends as an undisturbed one if life ${life + 1} ends ${moment} entry ${number}`, async () => {
        const at = await placeInLife(`${kind}-${life}-${moment}-${number}-over`, life, kind)
        const died = await harness.dieHere(at, `${moment}:${number}`)
        assert.ok(died.killed || (died.recorded ?? 0) < number, 'it was over')
        await checkDisturbed(at)
      })
    }

    const killed = oneOf(`${title}, killed`, isFull ? (isServer(kind) ? 6 : 3) : 70)
    for (let index = 0; index < killed.length; index += 6) {
      const together = killed.slice(index, index + 6)
      const names = together.map(({ life, moment, number }) => `${moment} entry ${number} of life ${life + 1}`)
      test(`${title} ends as an undisturbed one if its process is killed ${names.join(', ')}`, async () => {
        const deaths = together.map(async ({ life, moment, number }) => ({
          at: await placeInLife(`${kind}-${life}-${moment}-${number}`, life, kind),
          killAt: `${moment}:${number}`,
        }))
        const ended = await harness.killTogether(await Promise.all(deaths))
        assert.ok(ended.some(({ life }) => life.killed))
        for (const { at } of ended) await checkDisturbed(at)
      })
    }

    const moments = isFull ? (isServer(kind) ? 20 : 50) : 1
    for (let number = 0; number < moments; number++) {
      const share = (number + shareOf(`${title}, moment ${number}`, 1000) / 1000) / moments
      test(`${title} ends as an undisturbed one if killed at any moment (${share.toFixed(3)} of a run)`, async () => {
        const fresh = async (tries: number): Promise<Place[]> => [
          await harness.place('flow', `${kind}-random-${number}-${tries}`, kind),
        ]
        const [at] = await harness.killedAfter(fresh, share * (undisturbed.took[0] ?? 0))
        assert.ok(at)
        await checkDisturbed(at)
      })
    }

    test(`${title} ends as an undisturbed one if it is killed again and again`, async () => {
      const at = await harness.place('flow', `${kind}-again`, kind)
      const step = isFull ? 3 : 29
      // one more entry each time, or the run would be given up for lack of progress
      for (let entries = 1; entries < 200; entries += step) {
        const { killed: isKilled } = await harness.dieHere(at, `after:${Math.min(step, entries)}`)
        if (!isKilled) break
      }
      await checkDisturbed(at)
    })
  })
}

/** The size of the test. Smaller for a folder, since its workers wait for each other's locks. */
const crowdOn = (kind: StoreKind) =>
  isFull && kind !== 'file'
    ? { runs: 40, processes: 6, concurrency: 4, between: { least: 60, most: 300 } }
    : { runs: 3, processes: 2, concurrency: 2, between: { least: 40, most: 120 } }

describe('flows in workers that are killed at random', { concurrency: 2 }, () => {
  for (const { kind, skip } of kinds) {
    test(`flows on ${kind} in workers that are killed at random end as undisturbed ones`, { skip }, async () => {
      const crowd = crowdOn(kind)
      const places = await Promise.all(
        Array.from({ length: crowd.runs }, (_, index) => harness.place('flow', `${kind}-worker-${index}`, kind)),
      )
      const store = (places[0] as Place).url
      const own = places.map((at) => ({ ...at, url: store }))
      await harness.enqueue(own)
      const program = { file: join(import.meta.dirname, 'flow-worker.ts'), args: [] }
      const fleet = await startFleet({ place: store, ledger: '', program, ...crowd })
      await fleet.untilDone(() => harness.answerWaiting(own))
      for (const at of own) await checkEnded(at, await harness.liveHere(at))
      assert.ok(fleet.kills() > 0)
    })
  }
})

/** Executes this many lives of a run. */
async function placeInLife(run: string, lived: number, kind: StoreKind): Promise<Place> {
  const at = await harness.place('flow', run, kind)
  for (let life = 0; life < lived; life++) await harness.liveHere(at)
  return at
}

async function checkDisturbed(at: Place): Promise<void> {
  const recorded = new Set((await journalsOf(at)).flatMap(recordedIn))
  const done = effects(at.run).length
  const asked = harness.requests(at.run).length
  const ended = await harness.finish(at)
  const again = effects(at.run).slice(done).map(placeIn)
  assert.deepEqual(
    again.filter((place) => recorded.has(place)),
    [],
    'nothing that was recorded is done again',
  )
  assert.ok(harness.requests(at.run).length - asked <= undisturbed.requests - recordedReplies(recorded))
  await checkEnded(at, ended)
}

async function checkEnded(at: Place, ended: Partial<Life>): Promise<void> {
  assert.equal(ended.status, 'completed')
  assert.deepEqual(outputOf(ended), undisturbed.output)
  assert.deepEqual(new Set(effects(at.run).map(plain)), undisturbed.places, 'the same is done')
  checkOnce(at)
  const { winner } = ended.outputs as { readonly winner: string }
  const won = effects(at.run)
    .map(placeIn)
    .filter((place) => place.startsWith('won-'))
  assert.deepEqual(won, [`won-${winner}`], 'the race has one winner, whenever the run continues')
  for (const { entries, state } of await journalsOf(at)) {
    const completed = entries.flatMap(({ type, path }) => (type === 'task.completed' ? (path ?? '') : []))
    assert.equal(new Set(completed).size, completed.length, `each step of ${state?.run} is completed once`)
  }
}

function checkOnce({ run }: Place): void {
  const places = effects(run).map(placeIn)
  const twice = places.filter((place, index) => isOnce(place) && places.indexOf(place) !== index)
  assert.deepEqual(twice, [], 'what is once happens once')
}

/** The functions and agents with a recorded result, by place. */
function recordedIn({ state }: Journal): string[] {
  return [...(state?.tasks.values() ?? [])].flatMap(({ name, status, settled }) =>
    status === 'completed' || (status === 'failed' && settled) ? [placeOf(state?.run ?? '', name)] : [],
  )
}

function recordedReplies(recorded: ReadonlySet<string>): number {
  return ['research#1/note', 'Worker#1/answer'].filter((place) => recorded.has(place)).length
}

/** `double[7]` for `double[7] <idempotency key>`. */
function placeIn(effect: string): string {
  return effect.slice(0, effect.lastIndexOf(' '))
}

/** The place of an effect, with the same name for whichever step won the race. */
function plain(effect: string): string {
  return placeIn(effect).replace(/^won-.*/, 'won')
}

function outputOf(life: Partial<Life> | undefined): object {
  return { ...(life?.outputs as object), winner: undefined }
}
