// What the crash tests share: a model server, a folder, processes that are killed, and this process, which takes their runs up.
import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Answer, Crew } from 'reprise'
import { readRun } from '../../src/engine/read-run.ts'
import type { Entry } from '../../src/journal/entries.ts'
import type { RunState } from '../../src/journal/state.ts'
import { openStore } from '../../src/stores/open-store.ts'
import { entriesOf } from '../engine/support.ts'
import { environmentOf } from '../models/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { crews, decide } from './feature-crews.ts'
import { openModelServer, requestsOf } from './model-server.ts'

const child = new URL('child.ts', import.meta.url).pathname
const personal = new URL('person.ts', import.meta.url).pathname
const execute = promisify(execFile)

export interface Place {
  readonly crew: string
  readonly run: string
  readonly url: string
}

export interface Life {
  readonly status?: string
  readonly outputs?: unknown
  readonly appends?: number
  readonly code?: string
  readonly killed: boolean
  /** Milliseconds from when it was about to kick off. */
  readonly took: number
}

export interface Started {
  readonly process: ChildProcess
  /** It is about to kick off. */
  readonly ready: Promise<unknown>
  readonly ended: Promise<Life>
}

export type Harness = Awaited<ReturnType<typeof openHarness>>

export async function openHarness() {
  const folder = await temporaryFolder()
  const server = await openModelServer(10)
  const environment = environmentOf({ OPENAI_API_KEY: 'sk-none', OPENAI_BASE_URL: `${server.url}/v1` })
  process.env['EFFECTS_FOLDER'] = folder.path
  const children: ChildProcess[] = []

  async function place(crew: string, run: string, kind = 'sqlite'): Promise<Place> {
    const own = join(folder.path, run)
    await mkdir(own)
    return { crew, run, url: kind === 'sqlite' ? `sqlite:${join(own, 'runs.db')}` : `file:${join(own, 'state')}` }
  }

  /** One life in a process of its own. */
  function start({ url, run, crew }: Place, killAt = '', variables: { readonly [name: string]: string } = {}): Started {
    const process_ = spawn(process.execPath, ['--conditions=reprise-source', child, url, run, crew, killAt], {
      // most of the time of a small process is spent on reading code
      env: { ...process.env, NODE_COMPILE_CACHE: join(folder.path, 'code'), ...variables },
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
    const ended = once(process_, 'close').then(async ([code, signal]): Promise<Life> => {
      const took = performance.now() - readyAt
      // what it sent before it died has arrived behind this
      await fetch(server.url).then((response) => response.arrayBuffer())
      if (signal === 'SIGKILL') return { killed: true, took }
      assert.equal(code, 0, complained)
      return { ...(JSON.parse(said.split('\n').at(-2) ?? '') as Omit<Life, 'killed' | 'took'>), killed: false, took }
    })
    return { process: process_, ready: once(process_.stdout, 'data'), ended }
  }

  /** What a person in another process does, `cancel` or the answer to a question, and what they are told. */
  async function person({ url, run, crew }: Place, what: string, answered?: Answer): Promise<string> {
    const said = JSON.stringify(answered ?? '')
    const { stdout } = await execute(process.execPath, [
      '--conditions=reprise-source',
      personal,
      url,
      run,
      crew,
      what,
      said,
    ])
    return stdout.trim()
  }

  /** The crew in this process. */
  async function here({ url, crew }: Place): Promise<Crew> {
    const made = await crews[crew]?.()
    assert.ok(made, `there is no crew ${crew}`)
    return made.with({ store: url })
  }

  /** One life in this process, behind which a person answers what is open. */
  async function liveHere(at: Place): Promise<Pick<Life, 'status' | 'outputs'>> {
    await using crew = await here(at)
    const ended = await crew.kickoff({ id: at.run, inputs: { notes: `run:${at.run};` } })
    const outputs = ended.tasks.map((task) => task.output ?? null)
    if (ended.status === 'suspended') await answer(at)
    return { status: ended.status, outputs: JSON.parse(JSON.stringify(outputs)) as unknown }
  }

  /** A person answers whatever is open. */
  async function answer(at: Place): Promise<void> {
    await using crew = await here(at)
    for (const question of (await crew.getRun(at.run)).questions) {
      await crew.answer(at.run, question.id, decide(question, at.run))
    }
  }

  /** Goes on until the run is completed. */
  async function finish(at: Place): Promise<Pick<Life, 'status' | 'outputs'>> {
    for (;;) {
      const ended = await liveHere(at)
      if (ended.status !== 'suspended') return ended
    }
  }

  /** A run whose process was killed so many milliseconds behind its start; earlier, if it was faster than that. */
  async function killedAfter(fresh: (tries: number) => Promise<Place>, milliseconds: number): Promise<Place> {
    for (let wait = milliseconds, tries = 1; ; wait *= 0.7, tries++) {
      const at = await fresh(tries)
      const { process: process_, ready, ended } = start(at)
      await ready
      const timer = setTimeout(() => process_.kill('SIGKILL'), wait)
      const { killed } = await ended
      clearTimeout(timer)
      if (killed) return at
    }
  }

  return {
    server,
    place,
    start,
    person,
    here,
    liveHere,
    answer,
    finish,
    killedAfter,
    requests: (run: string) => requestsOf(server, run),
    async [Symbol.asyncDispose](): Promise<void> {
      for (const one of children) if (one.exitCode === null && one.signalCode === null) one.kill('SIGKILL')
      environment[Symbol.dispose]()
      await server[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** What the journal holds; nothing when the run was never made. */
export async function journalOf({ url, run }: Place): Promise<{ state?: RunState; entries: Entry[] }> {
  const store = await openStore(url)
  try {
    if (!(await store.row(run))) return { entries: [] }
    return { state: (await readRun(store, run)).state, entries: await entriesOf(store, run) }
  } finally {
    await store.close()
  }
}
