// The crew of workers that are killed: ten steps, two of them parallel `once` calls, whose effects are lines in a file.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { Agent, Crew, Task, tool } from 'reprise'
import { scriptedModel, type ScriptEntry } from 'reprise/testing'
import { z } from 'zod'

/** Number of steps of all models and tools together. */
export const stepsOfRun = 10

const input = z.object({ claim: z.string() })

export const claims = Array.from({ length: 200 }, (_, index) => `c-${index + 1}`)

/** Claims that end their process each time: half of them in a tool, half before their model has answered. */
export const crashing = Array.from({ length: 10 }, (_, index) => `crash-${index + 1}`)

/**
 * Claims whose model is slow in the first step, so that they make no progress when another run ends the process.
 */
export const slow = claims.map((claim) => `slow-${claim}`)
const thinkingMs = 2_000

// each claim has its own script, since scripted calls are fixed
const script = scriptedModel([
  ...[...claims, ...slow].flatMap((claim) => [
    ...said('Settle', claim, ['pay', 'mail']),
    ...said('Check', claim, ['look']),
    ...said('File', claim, ['look']),
  ]),
  ...crashing.flatMap((claim) => said('Settle', claim, ['crash'])),
])
const model: typeof script = {
  ...script,
  async doGenerate(request) {
    const prompt = JSON.stringify(request.prompt)
    if (prompt.includes('Settle claim slow-')) await wait(thinkingMs)
    if (/claim crash-\d*[02468]\b/.test(prompt)) await crash()
    return script.doGenerate(request)
  },
}

function said(what: string, claim: string, tools: readonly string[]): ScriptEntry[] {
  const when = new RegExp(`${what} claim ${claim}\\b`)
  return [
    { when, calls: tools.map((name) => ({ tool: name, input: { claim } })) },
    { when, reply: `${what} ${claim}: done` },
  ]
}

/** `hear` receives each step, and each `once` call while it runs. */
export function killedCrew(store: string, ledger: string, hear: (what: 'step' | 'within') => void = () => {}) {
  const done = (key: string): boolean => existsSync(ledger) && readFileSync(ledger, 'utf8').includes(` ${key}\n`)
  /** Must not happen twice. `settle` looks into the file. */
  const effect = (name: string) =>
    tool({
      name,
      description: name,
      input,
      async run({ claim }, { idempotencyKey }) {
        await wait(2)
        appendFileSync(ledger, `${claim} ${name} ${idempotencyKey}\n`)
        hear('within')
        // long enough to be killed here
        await wait(20)
        return `${name} for ${claim}`
      },
      settle: (key) => (done(key) ? { happened: true, result: 'found' } : { happened: false }),
    })
  const look = tool({
    name: 'look',
    description: 'Look',
    effect: 'read',
    input,
    run: async ({ claim }) => wait(3, claim),
  })
  const fatal = tool({
    name: 'crash',
    description: 'End the process, as memory that runs out does',
    effect: 'read',
    input,
    run: crash,
  })
  const tools = [effect('pay'), effect('mail'), look, fatal]
  const agent = new Agent({ role: 'Clerk', goal: 'Help', model, tools })
  const settle = new Task({ name: 'settle', description: 'Settle claim {claim}' })
  const check = new Task({ name: 'check', description: 'Check claim {claim}', context: [] })
  const file = new Task({ name: 'file', description: 'File claim {claim}', context: [] })
  return new Crew({ name: 'killed', agents: [agent], tasks: [settle, check, file], store, onStep: () => hear('step') })
}

async function crash(): Promise<never> {
  // the other runs of the process are in progress by then
  await wait(10)
  process.kill(process.pid, 'SIGKILL')
  return new Promise<never>(() => undefined)
}
