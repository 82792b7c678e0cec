// A history: a random program, executed by processes that die or stop at random moments, while people act on the run.
import fc from 'fast-check'
import { RepriseError, type RunResult } from 'reprise'
import type { AskedQuestion } from '../../../src/journal/state/open-questions.ts'
import type { Store } from '../../../src/stores/store.ts'
import { buildFlow } from './build-flow.ts'
import { checkEnd, checkPasses, checkReadElsewhere } from './checks.ts'
import { answerOf, person, type Deed, type Person } from './person.ts'
import { programs, type Block } from './program.ts'
import { mostMs, openScene, root, type Scene } from './scene.ts'
import type { Death } from './process.ts'

interface Life {
  readonly how: 'resume' | 'kickoff' | 'advance'
  /** The version of the code. */
  readonly version: string
  readonly concurrency: number
  readonly death: Death | undefined
  /** When the process is stopped, or ends its slice, in ms after its start. */
  readonly stops: number | undefined
  /** Answers that `onQuestion` returns: the `choice` of `answerOf`. Undefined: there is no `onQuestion`. */
  readonly answers: number | undefined
  readonly deeds: readonly Deed[]
}

export interface History {
  readonly program: Block
  readonly lives: readonly Life[]
  /** Seed of the delays of the store and of the random numbers of processes. */
  readonly salt: number
}

const at = fc.constantFrom(0, 1, 5, 10, 50, 300, 5_000)

const deeds: fc.Arbitrary<Deed> = fc.record({
  what: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom<Deed['what']>('answer', 'answer', 'send', 'send') },
    { weight: 5, arbitrary: fc.constantFrom<Deed['what']>('edit', 'invalidate') },
    { weight: 1, arbitrary: fc.constant<Deed['what']>('cancel') },
  ),
  at,
  choice: fc.nat(30),
})

const lives: fc.Arbitrary<Life> = fc.record({
  how: fc.constantFrom('resume', 'kickoff', 'advance'),
  version: fc.constantFrom('1', '1', '1', '2'),
  concurrency: fc.integer({ min: 1, max: 5 }),
  death: fc.option(fc.record({ append: fc.integer({ min: 1, max: 20 }), written: fc.boolean() }), {
    nil: undefined,
    freq: 8,
  }),
  stops: fc.option(at, { nil: undefined, freq: 1 }),
  answers: fc.option(fc.nat(12), { nil: undefined, freq: 1 }),
  deeds: fc.array(deeds, { maxLength: 3 }),
})

export const histories: fc.Arbitrary<History> = fc.record({
  program: programs,
  lives: fc.array(lives, { minLength: 1, maxLength: 8 }),
  salt: fc.nat(1_000_000),
})

/** No deaths. Repeated until the run has ended; people answer and send what is needed in between. */
const calm: Life = {
  how: 'resume',
  version: '2',
  concurrency: 4,
  death: undefined,
  stops: undefined,
  answers: 0,
  deeds: [],
}
const mostCalmLives = 200
/** Past the longest sleep, in ms. */
const longTime = 1_000_000_000

/** The outcome of a history. */
export interface Outcome {
  readonly problems: readonly string[]
  readonly lives: number
  readonly status: string
}

/** Plays a history. `open` opens an empty store that uses the given clock. */
export async function play(history: History, open: (now: () => number) => Store | Promise<Store>): Promise<Outcome> {
  const scene = await openScene(history.program, history.salt, open)
  const { time, problems } = scene
  const people = person(scene)
  let count = 0
  const live = async (life: Life): Promise<void> => {
    count += 1
    await liveOnce(scene, people, life).catch((error: unknown) => problems.add(String(error)))
    await checkPasses(scene)
  }
  const goesOn = (): boolean => !isOver(scene) && problems.size === 0
  for (const life of history.lives) if (goesOn()) await live(life)
  for (let round = 0; round < mostCalmLives && goesOn(); round++) {
    await time.passUntil(people.answerAll(), mostMs)
    await time.passUntil(people.sendAll(), mostMs)
    if (round % 2 === 1) time.leap(longTime)
    await live(calm)
  }
  if (!isOver(scene)) problems.add(`the run never ends: it is ${scene.journal(root).status}`)
  if (problems.size === 0) await checkEnd(scene)
  await scene.store.close()
  return { problems: [...problems], lives: count, status: scene.journal(root).status }
}

function isOver(scene: Scene): boolean {
  return ['completed', 'cancelled'].includes(scene.journal(root).status)
}

/** One process executes the run until it ends or suspends, or the process dies. */
async function liveOnce(
  scene: Scene,
  people: Person,
  { how, version, concurrency, death, stops, answers, deeds: planned }: Life,
): Promise<void> {
  const { time } = scene
  const process = scene.start(death)
  const flow = buildFlow({ scene, process, concurrency, version })
  const stop = new AbortController()
  const options = {
    signal: stop.signal,
    ...(answers === undefined ? {} : { onQuestion: (question: AskedQuestion) => answerOf(scene, question, answers) }),
  }
  const exists = scene.journal(root).entries > 0
  const begin = (): Promise<unknown> => {
    if (!exists || how === 'kickoff') return flow.kickoff({ id: root, inputs: { given: 'given' }, ...options })
    if (how === 'resume') return flow.resume(root, options)
    return flow.advance(root, { until: time.now() + (stops ?? mostMs), signal: stop.signal })
  }
  const later = (ms: number): Promise<void> => time.sleep(ms, new AbortController().signal)
  const done = planned.map(async (deed) => {
    await later(deed.at)
    await people.perform(deed)
  })
  if (stops !== undefined && how !== 'advance') void later(stops).then(() => stop.abort())
  const outcome = Promise.race([process.died, begin().catch((error: unknown) => noteError(scene, error))])
  await time.passUntil(outcome, mostMs)
  await process.end()
  const result = (await outcome) as RunResult | undefined
  if (done.length === 0 && result?.status !== undefined && 'raw' in result) await checkReadElsewhere(scene, result)
  await time.passUntil(Promise.all(done), mostMs)
}

/** Records an error that should never occur. */
function noteError({ problems, journal }: Scene, error: unknown): undefined {
  const isExpected =
    RepriseError.isInstance(error) &&
    ((error.code === 'TASK_FAILED' && expectedFailures.test(error.message)) ||
      error.code === 'RUN_HELD' ||
      (error.code === 'RUN_CANCELLED' && journal(root).status === 'cancelled'))
  if (!isExpected) problems.add(`a life got: ${String(error)}`)
}

const expectedFailures = /is broken|person's answer failed|All promises were rejected/
