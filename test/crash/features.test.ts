// Invariants 2, 3 and 6 for every feature beside plain tasks: a run killed at any moment ends as an undisturbed run and
// repeats no recorded step. Also several processes and one run: answers, cancellations, and a death beside an MCP
// server.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { after, before, describe, test } from 'node:test'
import type { Question } from 'reprise'
import { returnedCall, startedCall } from '../../src/journal/call-entries.ts'
import type { Entry } from '../../src/journal/entries.ts'
import { taskInPath } from '../../src/journal/paths.ts'
import { openingText, visibleConversation } from '../../src/read/conversation.ts'
import { openQuestions } from '../../src/journal/state/open-questions.ts'
import { replyText, type AttemptState } from '../../src/journal/state/state.ts'
import { chatReply, openServer, sendJson } from '../models/support.ts'
import { isFull } from '../support/full.ts'
import { shareOf } from '../support/share.ts'
import { isServer, kindsHere, type StoreKind } from '../support/store-place.ts'
import { isGone, testServer, until } from '../tools/mcp-support.ts'
import { effects } from './effects.ts'
import {
  journalOf,
  journalsOf,
  openHarness,
  type Harness,
  type Journal,
  type Life,
  type Place,
  type ProcessLife,
} from './harness.ts'
import type { Heard } from './life.ts'
import { killsByProcess, pointsOver } from './matrix.ts'
import { stepName } from './model-server.ts'

/** Number of entries in each life of an undisturbed run; a question ends a life. A test below checks the numbers. */
const features: { readonly [crew: string]: readonly number[] } = {
  parallel: [20],
  besides: [14],
  lists: [24],
  conditional: [12],
  guarded: [18],
  people: [6, 7, 6, 3],
  approval: [7, 9],
  callbacks: [17],
  delegating: [19],
  functions: [9],
  nested: [11, 11],
  files: [10],
  limits: [10, 4],
  long: [13],
  served: [11],
  servedByHttp: [11],
  spoken: [11],
  searching: [11],
}
const outputFiles: { readonly [crew: string]: number } = { files: 2 }

const kinds = await kindsHere('sqlite', 'postgres', 'redis')
let harness: Harness
let undisturbed: ReadonlyMap<string, Undisturbed>
before(async () => {
  harness = await openHarness()
  undisturbed = await liveUndisturbed()
})
after(() => harness[Symbol.asyncDispose]())

interface Point {
  readonly life: number
  readonly moment: string
  readonly number: number
}

interface Undisturbed {
  readonly lives: readonly ProcessLife[]
  readonly steps: readonly string[]
  readonly requests: readonly string[]
  readonly effects: readonly string[]
  readonly written: { readonly [name: string]: string }
  readonly underWay: number
}

// over servers, only the full matrix includes more than the random moments below
for (const { kind, skip } of isFull ? kinds : kinds.slice(0, 1)) {
  for (const [crew, lives] of Object.entries(features)) {
    const title = `a crew with ${crew} on ${kind}`
    describe(title, { concurrency: 3, skip }, () => {
      test('is killed at every entry', () => {
        const { lives: lived } = undisturbedOf(crew)
        assert.deepEqual(
          lived.map(({ recorded }) => recorded),
          lives,
        )
      })

      const all = pointsOver(title, kind, pointsOf(lives))
      for (const { life, moment, number } of all) {
        test(`ends as an undisturbed run when life ${life + 1} ends ${moment} entry ${number}`, async () => {
          const at = await placeInLife(crew, `${kind}-${crew}-${life}-${moment}-${number}-over`, life, kind)
          assert.ok(isReached(await harness.dieHere(at, `${moment}:${number}`), number), 'it was over')
          await checkDisturbed(at, undisturbedOf(crew))
        })
      }

      for (const points of killsByProcess(title, kind, all)) {
        let killed: ReturnType<typeof killTogether> | undefined
        for (const [index, { life, moment, number }] of points.entries()) {
          test(`ends as an undisturbed run when the process of life ${life + 1} is killed ${moment} entry ${number}`, async () => {
            const { at, life: ended } = (await (killed ??= killTogether(crew, points, kind)))[index] ?? assert.fail()
            assert.ok(isReached(ended, number), 'it was killed')
            await checkDisturbed(at, undisturbedOf(crew))
          })
        }
      }

      for (let number = 1; number <= (outputFiles[crew] ?? 0); number++) {
        test(`ends as an undisturbed run when killed before output file ${number} has its name`, async () => {
          const at = await harness.place(crew, `${kind}-${crew}-naming-${number}`, kind)
          assert.ok((await harness.start(at, `naming:${number}`).ended).killed, 'it was killed')
          await checkDisturbed(at, undisturbedOf(crew))
        })
      }
    })
  }
}

// a process with all crews that have so many lives, killed at one moment in each of so many parts of the time that it
// takes
for (const { kind, skip } of kinds) {
  for (let life = 0; life < Math.max(...Object.values(features).map((lives) => lives.length)); life++) {
    const crews = Object.keys(features).filter((crew) => (features[crew]?.length ?? 0) > life)
    const moments = isFull ? (isServer(kind) ? 6 : 20) : isServer(kind) ? 1 : 2
    for (let number = 0; number < moments; number++) {
      const share = (number + shareOf(`${kind}, life ${life}, moment ${number}`, 1000) / 1000) / moments
      const moment = `at any moment of life ${life + 1} (${share.toFixed(3)} of it)`
      describe(`all crews on ${kind}, killed ${moment}`, { concurrency: 3, skip }, () => {
        let killed: readonly Place[]
        before(async () => {
          const fresh = (tries: number): Promise<Place[]> =>
            Promise.all(
              crews.map((crew) => placeInLife(crew, `${kind}-${crew}-random-${life}-${number}-${tries}`, life, kind)),
            )
          const [first] = crews
          const took = undisturbed.get(first ?? '')?.lives[life]?.took ?? 0
          killed = await harness.killedAfter(fresh, share * took)
        })
        for (const [index, crew] of crews.entries())
          test(`a crew with ${crew} ends as an undisturbed one`, async () => {
            await checkDisturbed(killed[index] ?? assert.fail(), undisturbedOf(crew))
          })
      })
    }
  }
}

describe('several processes and one run', () => {
  test('a run continues from each of three answers that two processes give in another order during the run', async () => {
    await using model = await openModel()
    const at = await harness.place('questions', 'questions-live')
    const life = harness.start(at, '', model.variables)
    const ids = await openIds(at, 3)
    assert.equal(await harness.person(at, ids('c#1'), { decision: 'approve' }), 'done')
    await model.asked('Follow as c-next')
    assert.equal(await harness.person(at, ids('a#1'), { decision: 'replace', output: 'mine' }), 'done')
    await model.asked('Follow as a-next')
    assert.match(
      await harness.person(at, ids('a#1'), { decision: 'approve' }),
      /^QUESTION_ANSWERED: .*already has an answer/,
    )
    assert.equal(await harness.person(at, ids('b#1'), { decision: 'approve' }), 'done')
    await model.asked('Follow as b-next')
    model.release()
    const { status, outputs } = await life.ended
    assert.equal(status, 'completed')
    assert.deepEqual(outputs, ['mine', 'said', 'said', 'said', 'said', 'said', 'said'])
    assert.equal(model.requests(), 7)
    const { state } = await journalOf(at)
    assert.equal(state?.lives, 1)
  })

  test('a run continues from each of three answers that come in another order between lives, one of them twice', async () => {
    await using model = await openModel()
    model.release()
    const at = await harness.place('questions', 'questions-between')
    const live = (): Promise<Life> => harness.start(at, '', model.variables).ended
    assert.equal((await live()).status, 'suspended')
    const ids = await openIds(at, 3)
    assert.equal(await harness.person(at, ids('b#1'), { decision: 'approve' }), 'done')
    assert.match(
      await harness.person(at, ids('b#1'), { decision: 'fail', reason: 'no' }),
      /^QUESTION_ANSWERED: .*already has an answer/,
    )
    assert.equal((await live()).status, 'suspended')
    assert.equal(model.times('Follow as b-next'), 1)
    const [first, second] = await Promise.all([
      harness.person(at, ids('a#1'), { decision: 'approve' }),
      harness.person(at, ids('a#1'), { decision: 'replace', output: 'mine' }),
    ])
    const won = first === 'done' ? 'said' : 'mine'
    assert.match(first === 'done' ? second : first, /^QUESTION_ANSWERED: /, 'of two at once one counts')
    assert.equal(await harness.person(at, ids('c#1'), { decision: 'approve' }), 'done')
    const { status, outputs } = await live()
    assert.equal(status, 'completed')
    assert.deepEqual(outputs, [won, 'said', 'said', 'said', 'said', 'said', 'said'])
    assert.equal(model.requests(), 7)
  })

  test('a cancellation stops model calls and tools at once, in any process', async () => {
    await using model = await openModel()
    const at = await harness.place('busy', 'cancelled')
    const life = harness.start(at, '', model.variables)
    await Promise.all([model.asked('Slow as x'), model.asked('Slow as y')])
    await until(() => effects(at.run).includes('wait begun'), 'the tool')
    assert.equal(await harness.person(at, 'cancel'), 'done')
    // the model never answers, so only a cancellation ends the calls
    assert.equal((await life.ended).code, 'RUN_CANCELLED')
    assert.equal(model.dropped(), 2, 'both model calls')
    assert.deepEqual(effects(at.run), ['wait begun', 'wait stopped'])
    const { entries } = await journalOf(at)
    assert.equal(entries.at(-1)?.type, 'run.cancelled')
    assert.equal(model.requests(), 3)
  })

  test('a killed process leaves no MCP server behind, and its open call asks a person', async () => {
    using mcp = testServer()
    await using model = await openModel()
    const at = await harness.place('mcp', 'mcp-killed')
    const variables = { ...model.variables, MCP_SERVER: JSON.stringify(mcp.server) }
    const pids = (): number[] => mcp.log().flatMap(({ started, pid }) => (started ? pid : []))
    const first = harness.start(at, '', variables)
    await model.asked('Slow as slow')
    await until(() => mcp.log().some(({ params }) => params?.name === 'wait'), 'the call')
    first.process.kill('SIGKILL')
    assert.ok((await first.ended).killed)
    await until(() => pids().length === 1 && pids().every(isGone), 'the end of the server')
    model.release()
    assert.equal((await harness.start(at, '', variables).ended).status, 'suspended')
    const { state } = await journalOf(at)
    const [asked] = state?.questions.values() ?? []
    assert.equal(asked?.question.kind, 'doubt')
    process.env['MCP_SERVER'] = variables.MCP_SERVER
    const happened = { decision: 'happened', result: 'rang' } as const
    assert.equal(await harness.person(at, asked.question.id, happened), 'done')
    assert.equal((await harness.start(at, '', variables).ended).status, 'completed')
    assert.equal(mcp.log().filter(({ params }) => params?.name === 'wait').length, 1, 'it was called once')
    await until(() => pids().length === 4 && pids().every(isGone), 'the end of every server')
  })

  /** Waits for this many open questions; returns their ids by path. */
  async function openIds(at: Place, count: number): Promise<(path: string) => string> {
    let open: readonly Question[] = []
    await until(async () => {
      const { state } = await journalOf(at)
      open = state ? openQuestions(state) : []
      return open.length === count
    }, 'the questions')
    return (path) => open.find((question) => question.path === path)?.id ?? ''
  }
})

function undisturbedOf(crew: string): Undisturbed {
  return undisturbed.get(crew) ?? assert.fail()
}

async function liveUndisturbed(): Promise<Map<string, Undisturbed>> {
  const crews = Object.keys(features)
  const places = await Promise.all(crews.map((crew) => harness.place(crew, `${crew}-undisturbed`)))
  const lives = await harness.liveToTheEnd(places)
  const known = places.map(async (at, index) => [at.crew, await whatItDid(at, lives[index] ?? [])] as const)
  return new Map(await Promise.all(known))
}

async function whatItDid(at: Place, lives: readonly ProcessLife[]): Promise<Undisturbed> {
  const last = lives.at(-1)
  assert.equal(last?.status, 'completed')
  const requests = plain(at, harness.requests(at.run))
  assert.equal(new Set(requests).size, requests.length, 'each step has a name of its own')
  const journals = await journalsOf(at)
  checkHeard(at, last.heard, [], journals)
  return {
    lives,
    steps: journals.flatMap(stepsIn),
    requests,
    effects: effects(at.run),
    written: await harness.written(at),
    underWay: underWay(journals[0]?.entries ?? []),
  }
}

/** Right before and right after every entry of every life. */
function pointsOf(lives: readonly number[]): Point[] {
  return lives.flatMap((recorded, life) =>
    Array.from({ length: recorded * 2 }, (_, index) => ({
      life,
      moment: index % 2 === 0 ? 'before' : 'after',
      number: Math.floor(index / 2) + 1,
    })),
  )
}

/** Whether the life got as far as this entry. It may have fewer, for instance if an answer came earlier. */
function isReached({ killed, recorded = 0 }: Life, number: number): boolean {
  return killed || recorded < number
}

async function killTogether(
  crew: string,
  points: readonly Point[],
  kind: StoreKind,
): ReturnType<Harness['killTogether']> {
  const deaths = points.map(async ({ life, moment, number }) => ({
    at: await placeInLife(crew, `${kind}-${crew}-${life}-${moment}-${number}`, life, kind),
    killAt: `${moment}:${number}`,
  }))
  return await harness.killTogether(await Promise.all(deaths))
}

/** A run that has had this many lives. */
async function placeInLife(crew: string, run: string, lives: number, kind: StoreKind): Promise<Place> {
  const at = await harness.place(crew, run, kind)
  for (let life = 0; life < lives; life++) await harness.liveHere(at)
  return at
}

async function checkDisturbed(at: Place, whole: Undisturbed): Promise<void> {
  const known = await journalsOf(at)
  const asked = harness.requests(at.run).length
  const done = effects(at.run).length
  // from its first entry on the run has its own copy of the file
  if (known[0]?.state) await harness.forgetFile(at)
  const ended = await harness.finish(at)

  assert.equal(ended.status, 'completed')
  assert.deepEqual(ended.outputs, whole.lives.at(-1)?.outputs)
  assert.deepEqual(await harness.written(at), whole.written, 'the same is in its files')
  const all = await journalsOf(at)
  assert.deepEqual(all.flatMap(stepsIn), whole.steps, 'the journals have the same steps, each once')
  assert.ok(underWay(all[0]?.entries ?? []) <= whole.underWay, 'no more tasks are under way at once')
  checkHeard(at, ended.heard, known, all)

  const requests = plain(at, harness.requests(at.run))
  const replied = plain(at, known.flatMap(repliesIn))
  const first = requests.slice(0, asked)
  assert.equal(new Set(first).size, first.length, 'nothing was asked twice before the kill')
  assert.deepEqual(sorted([...replied, ...requests.slice(asked)]), sorted(whole.requests), 'asked after the kill')

  const traces = effects(at.run)
  const recorded = known.flatMap(recordedEffects)
  const again = traces.slice(done).filter((trace) => recorded.includes(trace))
  assert.deepEqual(again, [], 'nothing that was recorded is done again')
  assert.deepEqual(sorted(new Set(traces)), sorted(new Set(whole.effects)), 'the same is done')
  for (const part of [traces.slice(0, done), traces.slice(done)]) {
    assert.equal(new Set(part).size, part.length, 'nothing is done twice but for the kill')
  }
  assert.ok(traces.filter((trace) => /^(pay|save|send) /.test(trace)).length <= 1, 'what is once runs once')
}

/**
 * A listener receives every entry and, word for word, what the models said in this life; without one, models do not
 * stream.
 */
function checkHeard(at: Place, heard: Heard | undefined, known: readonly Journal[], all: readonly Journal[]): void {
  assert.equal(
    harness.streamed(at.run),
    heard ? harness.requests(at.run).length : 0,
    'models are streamed to listeners',
  )
  if (!heard) return
  const [count = 0, entries = []] = [known[0]?.entries.length, all[0]?.entries]
  const said = entries
    .slice(count)
    .flatMap((entry) => (entry.type === 'model.replied' ? [[entry.path, replyText(entry)]] : []))
  assert.deepEqual(
    heard.entries,
    entries.map(({ seq }) => seq),
  )
  assert.deepEqual(heard.texts, Object.fromEntries(said.filter(([, text]) => text !== '')))
}

/** The steps that a journal records: each once, except a call that was in flight at a kill, and the doubt about it. */
function stepsIn({ entries }: Journal): string[] {
  const doubts = entries.flatMap((entry) =>
    entry.type === 'question.asked' && entry.question.kind === 'doubt' ? entry.question.id : [],
  )
  const steps = entries.flatMap((entry) => {
    const place = `${entry.type} ${entry.path ?? ''}`
    switch (entry.type) {
      case 'run.resumed':
      case 'run.woken':
      case 'run.suspended':
        return []
      case 'guardrail.judged':
        return `${place} ${entry.guardrail} ${entry.verdict} ${entry.reason ?? ''}`
      case 'question.asked':
        return doubts.includes(entry.question.id) ? [] : `${place} ${entry.question.kind}`
      case 'question.answered':
        return doubts.includes(entry.question) ? [] : `${place} ${entry.answer.decision}`
      default: {
        // a function task has them in its first and last entry, unless it was called again
        const [started, returned] = [startedCall(entry), returnedCall(entry)]
        const calls = [
          ...(started ? [`tool.called ${started.path}`] : []),
          ...(returned ? [`tool.returned ${returned.path}`] : []),
        ]
        return calls.includes(place) ? calls : [place, ...calls]
      }
    }
  })
  const isCall = (step: string): boolean => step.startsWith('tool.called ')
  return sorted([...steps.filter((step) => !isCall(step)), ...new Set(steps.filter(isCall))])
}

/** The largest number of tasks in progress at once. */
function underWay(entries: readonly Entry[]): number {
  const open = new Set<string>()
  let most = 0
  for (const { type, path = '' } of entries) {
    if (type === 'task.started') open.add(taskInPath(path))
    if (type === 'task.completed') open.delete(taskInPath(path))
    most = Math.max(most, open.size)
  }
  return most
}

function repliesIn({ state }: Journal): string[] {
  if (!state) return []
  const { attempts } = state
  const root = (attempt: AttemptState, corrections = 0): { first: string; corrections: number } => {
    const carried = attempt.carries && attempts.get(attempt.carries.path)
    return carried ? root(carried, corrections + 1) : { first: attempt.request.message, corrections }
  }
  return [...attempts.values()].flatMap((attempt) => {
    const { first, corrections } = root(attempt)
    // the turn of a function task has no model call
    const asked = attempt.turns.filter(({ reply }) => reply.finish !== 'code')
    // a summary stands for all turns before it
    const covered = asked.filter(({ reply }) => reply.seq < (attempt.summary?.seq ?? Infinity))
    const behind = asked.slice(covered.length)
    return [
      ...covered.map((_, index) => stepName(first, corrections, index + 1)),
      ...behind.map((_, index) => stepName(openingText(visibleConversation(state, attempt)), corrections, index + 1)),
    ]
  })
}

/** The recorded effects of the user's code, in the words of its traces. */
function recordedEffects({ state, entries }: Journal): string[] {
  if (!state) return []
  const { attempts } = state
  const calls = [...attempts.values()].flatMap((attempt) => attempt.turns.flatMap((turn) => turn.calls))
  const returned = calls
    .filter((call) => call.outcome)
    .map(({ request, path }) => `${request.tool} of ${taskInPath(path)}`)
  const marked = entries.flatMap((entry) => {
    const { path = '' } = entry
    switch (entry.type) {
      case 'run.created':
        return 'before'
      case 'run.completed':
        return 'after'
      case 'callback.returned': {
        const steps = entries.filter(({ type, seq }) => /^(model.replied|tool.returned)$/.test(type) && seq <= entry.of)
        return (entry.path === undefined ? steps : [entry]).map((step) => `callback for ${step.path}`)
      }
      case 'task.started':
      case 'task.skipped':
        return `when ${taskInPath(path)}`
      case 'guardrail.judged': {
        const said = attempts.get(path)?.turns.at(-1)
        return `${entry.guardrail} judged ${said ? replyText(said.reply) : ''}`
      }
      default:
        return []
    }
  })
  return [...returned, ...marked]
}

/** Replaces the run's id, so that runs can be compared. */
function plain({ run }: Place, steps: readonly string[]): string[] {
  return steps.map((step) => step.replaceAll(`run:${run};`, 'run'))
}

function sorted(texts: Iterable<string>): string[] {
  return [...texts].toSorted((a, b) => (a < b ? -1 : 1))
}

/** A model that says `said`, or first calls `wait` if the task is to wait. A slow one answers once released. */
async function openModel() {
  const held: ServerResponse[] = []
  let holds = true
  let dropped = 0
  const texts: string[] = []
  const say = (response: ServerResponse): void => sendJson(response, 200, chatReply({ content: 'said' }))
  const server = await openServer((response, count) => {
    const body = JSON.stringify(server.received[count - 1]?.body)
    texts.push(body)
    response.on('close', () => void (dropped += response.writableFinished ? 0 : 1))
    if (body.includes('Task: Wait as') && !body.includes('"role":"tool"')) {
      const call = { id: 'w', type: 'function', function: { name: 'wait', arguments: '{}' } }
      sendJson(response, 200, chatReply({ tool_calls: [call] }))
    } else if (body.includes('Task: Slow as') && holds) held.push(response)
    else say(response)
  })
  const times = (task: string): number => texts.filter((text) => text.includes(`Task: ${task}`)).length
  return {
    variables: { OPENAI_BASE_URL: server.url },
    requests: () => texts.length,
    times,
    /** Model calls whose process hung up. */
    dropped: () => dropped,
    asked: (task: string) => until(() => times(task) > 0, task),
    release() {
      holds = false
      held.splice(0).forEach(say)
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
