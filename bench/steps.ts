// Runs that only record steps of 1 KB: the entries of a crew's agent, through the engine's own writer, without a model.
import { createRun } from '../src/engine/run/create-run.ts'
import type { CrewDefinition, Engine, TaskDefinition } from '../src/engine/definition.ts'
import { openEngine, realWorld } from '../src/engine/world.ts'
import { encodeEntry } from '../src/journal/codec.ts'
import type { NewEntry } from '../src/journal/entries.ts'
import type { Store } from '../src/stores/store.ts'

export const payloadBytes = 1024

export interface Stepper {
  readonly run: string
  /** Records the next step; resolves when it is on disk. */
  step(): Promise<void>
  /** Ends the run, as a crew does. */
  finish(): Promise<void>
}

export function engineOn(store: Store): Engine {
  return openEngine(store, realWorld())
}

/** A run whose only task has started. */
export async function openStepper(engine: Engine): Promise<Stepper> {
  const run = engine.world.newRunId()
  const hold = await createRun(engine, crew, { run, inputs: {} })
  if (!hold) throw new Error(`run ${run} exists already`)
  const request = { instructions: '', message: ['work'], tools: [], model: 'bench', settings: {} }
  await hold.append([{ type: 'task.started', path: 'work#1', request, fingerprint: {}, agent: 'Worker' }])
  let turn = 0
  return {
    run,
    step: () => hold.append([stepEntry(++turn)]),
    async finish() {
      await hold.append([{ type: 'task.completed', path: 'work#1', structured: false }, { type: 'run.completed' }])
      await hold.release()
    },
  }
}

/** Records steps of one run, many per append, for benches that measure something else. */
export async function takeSteps({ step }: Stepper, steps: number): Promise<void> {
  for (let taken = 0; taken < steps; taken += 500) {
    await Promise.all(Array.from({ length: Math.min(500, steps - taken) }, step))
  }
}

/** The encoded entry of a step. */
export function stepLine(): Uint8Array {
  const stamp = { seq: 1_000, at: new Date().toISOString(), token: 1, prev: '-'.repeat(43) }
  return encodeEntry(stepEntry(1_000), stamp).bytes
}

const words = 'the claim is covered, the loss was reported in time, and the file is complete; '
const text = words.repeat(Math.ceil(payloadBytes / words.length)).slice(0, payloadBytes)

/** A model's reply of 1 KB of text, with the metadata of a provider. */
function stepEntry(turn: number): NewEntry {
  return {
    type: 'model.replied',
    path: `work#1/${turn}`,
    startedAt: '2026-01-01T00:00:00.000Z',
    parts: [{ type: 'text', text, opaque: { openai: { itemId: `msg_${'0123456789abcdef'.repeat(3)}` } } }],
    usage: { calls: 1, input: 900, output: 250, cacheRead: 512, reasoning: 128 },
    finish: 'stop',
    model: 'gpt-5-2026-01-01',
  }
}

const task: TaskDefinition = {
  named: true,
  was: [],
  name: 'work',
  id: '6f1c1e0e-8d2c-5d5e-9c3f-1a2b3c4d5e6f',
  description: 'work',
  expectedOutput: undefined,
  agent: {
    role: 'Worker',
    title: () => 'Worker',
    model: undefined,
    settings: {},
    maxIterations: 1,
    maxRetries: 0,
    maxSeconds: undefined,
    maxRpm: undefined,
    identity: {},
  },
  context: [],
  anyContext: true,
  inputs: [],
  schema: undefined,
  tools: [],
  coworkers: [],
  retries: 0,
  child: undefined,
  code: undefined,
  guardrails: [],
  humanInput: false,
  async: false,
  when: undefined,
  turns: () => new Map(),
  render: () => ({ instructions: '', message: ['work'] }),
  fingerprint: () => ({}),
}

const crew: CrewDefinition = {
  name: 'bench',
  version: '',
  tasks: [task],
  process: 'sequential',
  concurrency: 1,
  logger: { info: () => {}, warn: () => {} },
}
