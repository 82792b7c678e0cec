// Where the scenes of the golden journals are played: a store, a clock that only this code advances, and processes that
// may die. Everything is deterministic, and nothing identifies the machine that recorded it.
import { setImmediate as turn } from 'node:timers/promises'
import { APICallError } from 'ai'
import type { Answer, Crew, OpenQuestion, RunResult } from 'reprise'
import { scriptedModel, type ScriptedModel, type ScriptEntry } from 'reprise/testing'
import { realClock } from '../../../src/base/clock.ts'
import type { World } from '../../../src/engine/definition.ts'
import { createProcessState } from '../../../src/engine/world.ts'
import type { Entry } from '../../../src/journal/entries.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'
import { blobReferences } from '../../../src/journal/codec.ts'
import type { RunRow, Store } from '../../../src/stores/store.ts'

/** A process that executes a scene, and what it makes crews and flows with. */
export interface Life {
  /** Options of every crew. */
  readonly options: { readonly store: Store; readonly logger: { info(): void; warn(): void }; readonly '~world': World }
  /** The effects so far, of all processes: calls of models, tools and functions. */
  readonly effects: string[]
  /** Advances the clock by hours. */
  wait(hours: number): void
  /** Records an effect. Returns how often it happened before. */
  did(effect: string): number
  /** A scripted model whose calls are recorded as effects, such as `model: Task: Draft a letter`. */
  model(script: readonly ScriptEntry[], name?: string): ScriptedModel
}

/** Whether a process dies before or after an append of entries of these types. */
export type Death = (types: readonly string[]) => 'before' | 'after' | void

export const before =
  (type: string): Death =>
  (types) =>
    types.includes(type) ? 'before' : undefined

export interface Lab {
  readonly store: Store
  readonly effects: string[]
  /** Starts a process. It dies before or after the first append for which `dies` returns that. */
  life(dies?: Death): Life
  /** Advances the clock by hours. */
  wait(hours: number): void
}

/** `effects`: the effects that happened before. */
export function openLab(start: string, effects: readonly string[] = []): Lab {
  let now = Date.parse(start)
  const clock = {
    now: () => new Date((now += 1)),
    monotonic: () => now,
    async sleep(ms: number, signal: AbortSignal) {
      now += ms
      await turn()
      signal.throwIfAborted()
    },
    timer: realClock.timer,
    random: () => 0.5,
  }
  let ids = 0
  const id = (): string => `${start.slice(0, 10)}-${++ids}`
  const store = memoryStore({ url: `memory:golden ${start}`, now: () => now, uuid: id, isGone: () => true })
  const done = [...effects]
  let processes = 0
  const wait = (hours: number): void => void (now += hours * 3_600_000)
  return {
    store,
    effects: done,
    wait,
    life(dies) {
      const pid = ++processes
      const world: World = {
        ...clock,
        turn: () => turn(),
        uuid: id,
        newRunId: id,
        newIncarnation: id,
        owner: { host: 'golden', boot: 'boot', pid, start: `${pid}`, instance: id() },
        // dead processes are taken over at once
        isGone: (owner) => owner.pid !== pid,
        leaseMs: 3_600_000,
        process: createProcessState(),
      }
      const options = {
        store: dies ? dyingAt(store, dies) : store,
        logger: { info() {}, warn() {} },
        '~world': world,
      }
      const did = (effect: string): number => done.push(effect) && done.filter((one) => one === effect).length - 1
      return {
        options,
        effects: done,
        wait,
        did,
        model: (script, name = 'golden') => noting(scriptedModel(script, { name }), did),
      }
    },
  }
}

function dyingAt(inner: Store, dies: Death): Store {
  let dead = false
  return {
    ...inner,
    async append(lease, seq, batch) {
      const types = batch.lines.map(({ bytes }) => (JSON.parse(Buffer.from(bytes).toString()) as Entry).type)
      const death = dead ? 'before' : dies(types)
      const waiting = death === 'before' ? 0 : await inner.append(lease, seq, batch)
      if (!death) return waiting
      dead = true
      throw new Error('the process is dead')
    },
    release: async () => 0,
  }
}

/** Records each call as an effect, with the beginning of the last message. */
function noting(model: ScriptedModel, did: (effect: string) => unknown): ScriptedModel {
  const note = (): void => {
    const { lastMessage } = model.calls.at(-1) as ScriptedModel['calls'][number]
    did(`model: ${lastMessage.replaceAll(/\s+/g, ' ').slice(0, 60)}`)
  }
  return {
    ...model,
    doGenerate: async (request) => {
      try {
        return await model.doGenerate(request)
      } finally {
        note()
      }
    },
    doStream: async (request) => {
      try {
        return await model.doStream(request)
      } finally {
        note()
      }
    },
  }
}

/** One or more runs, made with today's code. */
export interface Scene {
  /** Executes the runs, and saves their journals at several points. */
  record(stage: Stage): Promise<void>
  /** Continues a run to its end in a new process, with the answers that it needs. Returns its outputs. */
  finish(life: Life, run: string): Promise<Outputs>
}

export type Outputs = { readonly [task: string]: string }

export interface Stage extends Lab {
  /** Exports a run. `to`: the name of the journal of its end; absent if the run is not continued. */
  save(name: string, run: string, to?: string): Promise<void>
  /** Finishes a run, and exports it. */
  saveFinished(name: string, run: string): Promise<void>
}

type AnyCrew = Pick<Crew, 'resume' | 'run'>

/** Resumes a run until it completes: answers questions, advances the clock while it sleeps, and retries failures. */
export async function finishRun(
  life: Life,
  crew: AnyCrew,
  run: string,
  answer: (question: OpenQuestion) => Answer,
): Promise<Outputs> {
  for (let failures = 0; ;) {
    const result = await crew.resume(run).catch((error: unknown) => {
      if ((failures += 1) > 3) throw error
    })
    if (result?.status === 'completed') return outputsOf(result)
    for (const question of result?.questions ?? []) await crew.run(run).answer(question.id, answer(question))
    if (result?.questions.length === 0) life.wait(30)
  }
}

function outputsOf({ raw, tasks }: Pick<RunResult, 'raw' | 'tasks'>): Outputs {
  return { ...Object.fromEntries(tasks.map((task) => [task.name, task.raw])), '': raw }
}

/** Awaits work during which its process dies. */
export async function untilDeath(work: Promise<unknown>): Promise<void> {
  const ended = await work.then(
    () => 'it ended',
    (error: unknown) => String(error),
  )
  if (!ended.includes('the process is dead')) throw new Error(`the process did not die: ${ended}`)
}

/** Throws the error of a provider that is overloaded, so that the model call is retried. */
export function overloaded(): never {
  const facts = { url: 'scripted:', requestBodyValues: {}, statusCode: 503 }
  const usage = { calls: 1, input: 20, output: 0 }
  return fail(new APICallError({ message: 'the model is overloaded', ...facts }), { usage })
}

/** Throws an error whose stack is the same wherever it is recorded. */
export function fail(error: Error, members: object = {}): never {
  throw Object.assign(error, { stack: `${error.message}\n    at work (scene.ts:7:3)`, ...members })
}

/** Edits the journal of a run by hand. */
export async function editByHand(store: Store, run: string, edit: (line: string) => string): Promise<void> {
  const row = (await store.row(run)) as RunRow
  const lines = await Array.fromAsync(store.read(run), ({ seq, bytes }) => {
    return { seq, text: Buffer.from(bytes).toString() }
  })
  const hashes = [...new Set(lines.flatMap(({ text }) => blobReferences(text)))]
  const blobs = await Promise.all(
    hashes.map(async (hash) => ({ hash, bytes: (await store.blob(run, hash)) as Uint8Array })),
  )
  const edited = lines.map(({ seq, text }) => ({ seq, bytes: Buffer.from(edit(text)) }))
  await store.delete(run)
  await store.create(row, { row, lines: edited, blobs })
}
