// Shared by the crash tests: a model server, a folder, processes that are killed, and this process, which resumes their
// runs.
import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { RepriseError, type Answer } from 'reprise'
import { readRun } from '../../src/read/read-run.ts'
import type { Entry } from '../../src/journal/entries.ts'
import type { RunState } from '../../src/journal/state/state.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { entriesOf } from '../engine/support.ts'
import { environmentOf } from '../models/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { bundle } from '../support/bundle.ts'
import { isServer, storePlace, type StoreKind, type StorePlace } from '../support/store-place.ts'
import { isGone, until } from '../tools/mcp-support.ts'
import { decideInFlow, event } from './big-flow.ts'
import { servers } from './effects.ts'
import type { PlannedLife } from './child.ts'
import { decide } from './feature-crews.ts'
import { live, openCrew, type Lived } from './life.ts'
import type { KillAt } from './killing.ts'
import { inputsOf } from './wider-crews.ts'
import { dieAt } from './mortal.ts'
import { openMcpOverHttp } from './mcp-over-http.ts'
import { openModelServer, requestsOf, streamedOf } from './model-server.ts'

const execute = promisify(execFile)
/** More lives than any of the crews needs. */
export const mostLives = 9
const claim = Buffer.from('%PDF-1.7\n\xff claim', 'latin1')

export interface Place {
  readonly crew: string
  readonly run: string
  readonly url: string
}

export interface Life extends Partial<Lived> {
  readonly recorded?: number
  readonly code?: string
  readonly killed: boolean
}

/** A life in its own process. */
export interface ProcessLife extends Life {
  /** Milliseconds since the process was ready. */
  readonly took: number
}

export interface Started {
  readonly process: ChildProcess
  /** Resolves when the process is about to kick off. */
  readonly ready: Promise<unknown>
  readonly ended: Promise<ProcessLife>
}

export type Harness = Awaited<ReturnType<typeof openHarness>>

export async function openHarness() {
  const folder = await temporaryFolder()
  const server = await openModelServer(10)
  const mcp = await openMcpOverHttp()
  const child = await bundle(join(import.meta.dirname, 'child.ts'))
  const personal = await bundle(join(import.meta.dirname, 'person.ts'))
  const environment = environmentOf({
    OPENAI_API_KEY: 'sk-none',
    OPENAI_BASE_URL: `${server.url}/v1`,
    MCP_URL: mcp.url,
    // not beside the crews, which are bundled
    MCP_SCRIPT: join(import.meta.dirname, '../tools/mcp-server.ts'),
  })
  process.env['EFFECTS_FOLDER'] = folder.path
  const before = process.cwd()
  // output files are written below the working folder
  process.chdir(folder.path)
  const children: ChildProcess[] = []
  /** Places that runs share, by kind. */
  const shared = new Map<StoreKind, Promise<StorePlace>>()

  async function place(crew: string, run: string, kind: StoreKind = 'sqlite'): Promise<Place> {
    const own = join(folder.path, run)
    await mkdir(own)
    await writeFile(join(own, 'claim.pdf'), claim)
    const there = shared.get(kind) ?? storePlace(kind, own)
    // all runs on a server share a place
    if (isServer(kind)) shared.set(kind, there)
    return { crew, run, url: (await there).url }
  }

  /** One life in its own process. */
  function start(at: Place, killAt = '', variables: { readonly [name: string]: string } = {}): Started {
    const { ended, ...started } = startAll([{ ...at, killAt }], variables)
    return { ...started, ended: ended.then(([life]) => life as ProcessLife) }
  }

  /** Several lives in one process, which is killed when the last of them is over. */
  function startAll(plans: readonly PlannedLife[], variables: { readonly [name: string]: string } = {}) {
    const process_ = spawn(process.execPath, [child.file, JSON.stringify(plans)], {
      env: { ...process.env, ...child.variables, ...variables },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    children.push(process_)
    let said = ''
    let complained = ''
    let readyAt = 0
    process_.stdout.on('data', (chunk: Buffer) => {
      if (said === '') readyAt = performance.now()
      said += String(chunk)
    })
    process_.stderr.on('data', (chunk: Buffer) => (complained += String(chunk)))
    const ended = once(process_, 'close').then(async ([code, signal]): Promise<ProcessLife[]> => {
      const took = performance.now() - readyAt
      const left = plans.flatMap(({ run }) => servers(run))
      await until(() => left.every(({ pid }) => isGone(pid)), 'the end of its MCP servers')
      // requests sent before the kill have arrived by now
      await fetch(server.url).then((response) => response.arrayBuffer())
      if (signal !== 'SIGKILL') assert.equal(code, 0, complained)
      const lines = said.split('\n').slice(1, -1)
      const lives = lines.map((line) => JSON.parse(line) as Omit<Life, 'killed'> & { run: string })
      return plans.map(({ run }) => {
        const life = lives.find((one) => one.run === run)
        assert.ok(life || signal === 'SIGKILL', complained)
        return { ...life, killed: life === undefined, took }
      })
    })
    return { process: process_, ready: once(process_.stdout, 'data'), ended }
  }

  /** Lives of several runs in one process, which is killed when the last of them is over. */
  async function killTogether(deaths: readonly { at: Place; killAt: KillAt }[]): Promise<{ at: Place; life: Life }[]> {
    const lives = await startAll(deaths.map(({ at, killAt }) => ({ ...at, killAt }))).ended
    return deaths.map(({ at }, index) => ({ at, life: lives[index] as Life }))
  }

  /** A person in another process cancels or answers a question. Returns the outcome that the person sees. */
  async function person({ url, run, crew }: Place, what: string, answered?: Answer): Promise<string> {
    const said = JSON.stringify(answered ?? '')
    const { stdout } = await execute(process.execPath, [personal.file, url, run, crew, what, said], {
      env: { ...process.env, ...personal.variables },
    })
    return stdout.trim()
  }

  /** One life in this process, which ends at this append as if the process had been killed. */
  async function dieHere(at: Place, killAt: KillAt): Promise<Life> {
    await using stack = new AsyncDisposableStack()
    const store = await openStore(at.url)
    // last, as the end of a process closes what it has left open
    stack.defer(() => store.close())
    const { lived, recorded } = await dieAt(store, { at: killAt }, async (mortal) => {
      const opened = stack.use(await openCrew(at.crew, at.run, mortal))
      return await live(opened.crew, at.crew, at.run)
    })
    return { ...lived, recorded, killed: lived === undefined }
  }

  /** One life in this process. A person answers the open questions after it. */
  async function liveHere(at: Place): Promise<Lived> {
    await using opened = await openCrew(at.crew, at.run, at.url)
    const lived = await live(opened.crew, at.crew, at.run)
    if (lived.status === 'suspended') await answer(at)
    return JSON.parse(JSON.stringify(lived)) as Lived
  }

  /** A person answers all open questions of the run and its child runs. */
  async function answer(at: Place): Promise<void> {
    await using opened = await openCrew(at.crew, at.run, at.url)
    const run = opened.crew.run(at.run)
    if (at.crew === 'flow') await run.send(event.name, event.value, { id: event.id })
    const decision = at.crew === 'flow' ? decideInFlow : decide
    for (const question of (await run.view()).questions) await run.answer(question.id, decision(question, at.run))
  }

  /** Queues runs on one store for workers. */
  async function enqueue(places: readonly Place[]): Promise<void> {
    for (const { crew, run, url } of places) {
      await using opened = await openCrew(crew, run, url)
      await opened.crew.enqueue({ id: run, inputs: inputsOf(crew, run) })
    }
  }

  /** A person answers the questions of queued runs. Returns whether all of them have ended. */
  async function answerWaiting(places: readonly Place[]): Promise<boolean> {
    let open = 0
    for (const at of places) {
      await using opened = await openCrew(at.crew, at.run, at.url)
      const { status } = await opened.crew.run(at.run).view()
      if (status !== 'completed') open += 1
      if (status === 'waiting') await answer(at).catch(unlessAnswered)
    }
    return open === 0
  }

  /** Deletes the original of the run's input file. */
  async function forgetFile({ run }: Place): Promise<void> {
    await rm(join(folder.path, run, 'claim.pdf'))
  }

  /** The output files of a run by name. */
  async function written({ run }: Place): Promise<{ readonly [name: string]: string }> {
    const out = join(folder.path, run, 'out')
    const names = await readdir(out).catch(() => [])
    return Object.fromEntries(
      await Promise.all(names.map(async (name) => [name, await readFile(join(out, name), 'utf8')])),
    ) as { [name: string]: string }
  }

  /** Adds lives until the run is completed, up to a limit. */
  async function finish(at: Place): Promise<Lived> {
    for (let lives = 1; lives <= mostLives; lives++) {
      const ended = await liveHere(at)
      if (ended.status !== 'suspended') return ended
    }
    return assert.fail(`run ${at.run} is still suspended after ${mostLives} lives`)
  }

  /** Runs whose process was killed this many milliseconds after its start, or earlier if it ended before. */
  async function killedAfter(fresh: (tries: number) => Promise<Place[]>, milliseconds: number): Promise<Place[]> {
    for (let wait = milliseconds, tries = 1; ; wait *= 0.7, tries++) {
      const places = await fresh(tries)
      const { process: process_, ready, ended } = startAll(places.map((at) => ({ ...at, killAt: '' })))
      await ready
      const timer = setTimeout(() => process_.kill('SIGKILL'), wait)
      const lives = await ended
      clearTimeout(timer)
      if (lives.some(({ killed }) => killed)) return places
    }
  }

  /** Each process has one life of each of these runs. A person answers from this process in between. */
  async function liveToTheEnd(places: readonly Place[]): Promise<ProcessLife[][]> {
    const lives = places.map((): ProcessLife[] => [])
    for (let life = 0; life < mostLives; life++) {
      const open = [...places.entries()].filter(([index]) => lives[index]?.at(-1)?.status !== 'completed')
      if (open.length === 0) break
      if (life > 0) for (const [, at] of open) await answer(at)
      const ended = await startAll(open.map(([, at]) => ({ ...at, killAt: '' }))).ended
      for (const [nth, [index]] of open.entries()) lives[index]?.push(ended[nth] as ProcessLife)
    }
    return lives
  }

  return {
    server,
    place,
    start,
    killTogether,
    person,
    dieHere,
    liveHere,
    answer,
    enqueue,
    answerWaiting,
    forgetFile,
    written,
    finish,
    killedAfter,
    liveToTheEnd,
    requests: (run: string) => requestsOf(server, run),
    streamed: (run: string) => streamedOf(server, run),
    async [Symbol.asyncDispose](): Promise<void> {
      for (const one of children) if (one.exitCode === null && one.signalCode === null) one.kill('SIGKILL')
      environment[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
      await mcp[Symbol.asyncDispose]()
      process.chdir(before)
      for (const there of shared.values()) await (await there)[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

export interface Journal {
  /** Undefined if the run was never created. */
  readonly state?: RunState
  readonly entries: readonly Entry[]
}

export async function journalOf({ url, run }: Place): Promise<Journal> {
  const store = await openStore(url)
  try {
    if (!(await store.row(run))) return { entries: [] }
    return { state: (await readRun(store, run)).state, entries: await entriesOf(store, run) }
  } finally {
    await store.close()
  }
}

/** The journals of the run and of its child runs. */
export async function journalsOf(at: Place): Promise<Journal[]> {
  const own = await journalOf(at)
  const children = [...(own.state?.attempts.values() ?? [])].flatMap(({ child: run }) => run ?? [])
  const below = await Promise.all(children.map((run) => journalsOf({ ...at, run })))
  return [own, ...below.flat()]
}

/** Whether the error says that an earlier answer isn't recorded yet. */
function unlessAnswered(error: unknown): void {
  if (!RepriseError.isInstance(error) || !['QUESTION_ANSWERED', 'RUN_ENDED'].includes(error.code)) throw error
}
