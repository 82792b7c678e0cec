// Random crews, random edits of their code, and what a run of them must come to. Each task has an effect outside, known by an id
// that stays the same whatever the task, its tool or its kind is called: paying twice is two effects of one id.
import { setImmediate as turn } from 'node:timers/promises'
import { Agent, Crew, RepriseError, Task, tool, type Effect, type OpenQuestion, type OrphanedTask } from 'reprise'
import { z } from 'zod'
import type { Answer } from '../../../src/journal/entries.ts'
import type { RunState } from '../../../src/journal/state/state.ts'
import { scriptedModel } from '../../../src/testing/scripted-model.ts'
import { allRows } from '../../../src/engine/history/all-rows.ts'
import { readRun } from '../../../src/engine/read/read-run.ts'
import type { Store } from '../../../src/stores/store.ts'
import { dieAt } from '../../crash/mortal.ts'
import type { Random } from '../../storm/random.ts'

/** A task as the code declares it. */
interface Step {
  readonly name: string
  readonly was?: string | undefined
  readonly kind: 'agent' | 'function' | 'crew'
  /** What it does outside. */
  readonly id: string
  readonly tool: { readonly name: string; readonly was?: string; readonly effect: Effect; readonly approval: boolean }
  readonly humanInput: boolean
  readonly text: number
  readonly inner: readonly Step[]
}

/** What a person who made the edits knows of them. */
interface Edited {
  readonly steps: readonly Step[]
  /** New names by old ones, with the tasks of the nested crew that they are in. */
  readonly renamed: ReadonlyMap<string, string>
}

export interface History {
  readonly told: readonly string[]
  readonly problems: readonly string[]
}

const quiet = { info() {}, warn() {} }

/** One run of a random crew that is edited and killed until it is completed, with everything that went wrong. */
export async function editedHistory(store: Store, random: Random, seed: number): Promise<History> {
  const told: string[] = []
  const problems: string[] = []
  const ledger: string[] = []
  const allowed = new Set<string>()
  /** Every task that the person has ever given up. */
  const givenUp = new Set<string>()
  const run = `run-${seed}`
  let steps: readonly Step[] = Array.from({ length: 2 + random.below(3) }, (_, at) =>
    randomStep(random, `${'abcde'[at]}`),
  )
  let renamed = new Map<string, string>()
  let decided = new Set<string>()
  let open: readonly string[] = []
  let finished = false

  const crewOf = (on: Store): Crew =>
    new Crew({ name: 'edited', tasks: tasksOf(steps, ledger), store: on, logger: quiet })
  const queued = random.chance(0.3)
  if (queued) await crewOf(store).enqueue({ id: run })

  for (let life = 1; life <= 40 && !finished; life++) {
    const killed = life <= 3 && random.chance(0.8)
    const at = killed ? `${random.chance(0.5) ? 'before' : 'after'}:${1 + random.below(12)}` : ''
    const byWorker = (life > 1 || queued) && random.chance(0.4)
    told.push(`life ${life}${byWorker ? ' by a worker' : ''}${at && `, killed ${at}`}: ${stepWords(steps)}`)
    const decisions = { renamed: Object.fromEntries(renamed), removed: [...decided] }
    try {
      await dieAt(store, { at }, async (mortal) => {
        const crew = crewOf(mortal)
        if (byWorker) return void (await crew.resumeAll())
        const there = (await mortal.row(run)) !== undefined
        if (there) await crew.resume(run, decisions)
        else await crew.kickoff({ id: run })
      })
    } catch (error) {
      if (!RepriseError.isInstance(error)) throw error
      told.push(`  ${error.code}: ${error.facts}`)
      if (error.code === 'OPTION_INVALID') {
        // decisions about what is not there any more
        renamed = new Map()
        decided = new Set()
      } else if (!['TASKS_CHANGED', 'RUN_HELD', 'STORE_UNAVAILABLE'].includes(error.code)) {
        problems.push(`${error.code}: ${error.message}`)
        break
      }
    }
    await turn()
    if (!(await store.row(run))) continue
    const crew = crewOf(store)
    const view = await crew.run(run).view()
    checkQuestions(open, view, await allStates(store, run), givenUp, problems)
    if (view.orphaned.length > 0) [renamed, decided] = decide(view.orphaned, renamed, random)
    for (const name of decided) givenUp.add(name.split('/').at(-1) ?? '')
    for (const question of view.questions) {
      if (random.chance(0.3)) continue
      const answer = honest(question, { ledger, allowed, functions: functionsOf(steps) })
      told.push(`  ${question.id} ${question.text.slice(0, 160)} -> ${answer.decision}`)
      await crew.run(run).answer(question.id, answer)
    }
    open = (await crew.run(run).view()).questions.map(({ id, path }) => `${id} ${path}`)
    finished = view.status === 'completed'
    if (!finished && life <= 3 && random.chance(0.7)) {
      const exempt = new Set(await uncalled(store, run, steps))
      const current = view.tasks.findIndex(({ status }) => ['started', 'waiting', 'failed'].includes(status))
      const next = edit(
        steps,
        { random, told, at: steps[current] && random.chance(0.7) ? current : undefined },
        (id) => exempt.has(id) && allowed.add(`relabelled ${id}`),
      )
      steps = next.steps
      renamed = new Map([...renamed, ...next.renamed])
    }
  }
  if (!finished) problems.push('it does not come to an end')
  for (const id of new Set(ledger)) {
    const count = ledger.filter((one) => one === id).length
    if (count > 1 && !allowed.has(`relabelled ${id}`)) problems.push(`${id} was done ${count} times`)
  }
  if (finished) checkEnd(await allStates(store, run), run, givenUp, problems)
  await checkResults(store, run, problems)
  return { told, problems }
}

function randomStep(random: Random, name: string, depth = 0): Step {
  const kinds = depth === 0 ? (['agent', 'agent', 'function', 'crew'] as const) : (['agent', 'function'] as const)
  return {
    name,
    kind: random.pick(kinds),
    id: `do-${name}`,
    tool: { name: `use_${name}`, effect: 'once', approval: random.chance(0.3) },
    humanInput: random.chance(0.2),
    text: 1,
    inner: depth === 0 ? [randomStep(random, `${name}1`, 1), randomStep(random, `${name}2`, 1)] : [],
  }
}

function tasksOf(steps: readonly Step[], ledger: string[]): Task[] {
  return steps.map((step) => taskOf(step, ledger))
}

function taskOf(step: Step, ledger: string[]): Task {
  const { name, was, kind, id, tool: use, humanInput, text, inner } = step
  const named = { name, ...(was === undefined ? {} : { was }) }
  if (kind === 'function') return new Task({ ...named, run: () => ({ did: (ledger.push(id), id) }) })
  if (kind === 'crew')
    return new Task({ ...named, crew: new Crew({ name: 'inner', tasks: tasksOf(inner, ledger), logger: quiet }) })
  const model = scriptedModel([
    { when: 'Task: Use', after: 0, calls: [{ tool: use.name, input: { id } }] },
    { when: 'Task: Use', reply: (asked) => `done ${/Use (\S+)/.exec(asked)?.[1]}` },
  ])
  const made = tool({
    name: use.name,
    ...(use.was === undefined ? {} : { was: use.was }),
    description: 'Does it',
    input: z.object({ id: z.string() }),
    effect: use.effect,
    approval: use.approval,
    run: (input) => ({ did: (ledger.push(input.id), input.id) }),
  })
  const agent = new Agent({ role: 'A', goal: 'g', model, tools: [made] })
  return new Task({ ...named, description: `Use ${id} v${text}`, agent, humanInput, context: [] })
}

/** One change of the code, of those that people make. */
function edit(
  steps: readonly Step[],
  { random, told, at = random.below(steps.length) }: { random: Random; told: string[]; at?: number | undefined },
  relabelled: (id: string) => void,
): Edited {
  const step = steps[at] as Step
  const put = (...made: Step[]): readonly Step[] => steps.toSpliced(at, 1, ...made)
  const kept = (next: readonly Step[], words: string): Edited => {
    told.push(`  edit: ${words}`)
    return { steps: next, renamed: new Map() }
  }
  const fresh = `${step.name}x`
  switch (random.pick([0, 0, 1, 2, 3, 4, 5, 6, 6, 7, 7, 7, 8, 8, 9])) {
    case 0: {
      const declared = random.chance(0.5)
      told.push(`  edit: ${step.name} is ${fresh} now${declared ? ', as `was` says' : ''}`)
      const made = declared ? { ...step, name: fresh, was: step.name } : { ...step, name: fresh, was: undefined }
      return { steps: put(made), renamed: new Map(declared ? [] : [[step.name, fresh]]) }
    }
    case 1:
      return steps.length > 1 ? kept(put(), `${step.name} is removed`) : kept(steps, 'nothing')
    case 2:
      return kept(
        steps.toSpliced(at, 0, randomStep(random, `${fresh}n${told.length}`, 1)),
        `a task before ${step.name}`,
      )
    case 3:
      return kept(steps.toReversed(), 'reversed')
    case 4: {
      const kind = step.kind === 'agent' ? 'function' : 'agent'
      return kept(put({ ...step, kind }), `${step.name} is of kind ${kind} now`)
    }
    case 5:
      return kept(
        put(
          { ...step, was: undefined, name: `${step.name}p`, kind: 'function', id: `do-${step.name}p` },
          { ...step, name: fresh },
        ),
        `${step.name} is split`,
      )
    case 6: {
      const declared = random.chance(0.5)
      const { name } = step.tool
      const renamedTool = { ...step.tool, name: `${name}x`, ...(declared ? { was: name } : {}) }
      return kept(put({ ...step, tool: renamedTool }), `tool ${name} is renamed${declared ? ', as `was` says' : ''}`)
    }
    case 7: {
      relabelled(step.id)
      return kept(
        put({ ...step, tool: { ...step.tool, effect: random.pick(['read', 'idempotent'] as const) } }),
        `the tool of ${step.name} is relabelled`,
      )
    }
    case 8: {
      if (step.kind !== 'crew') return kept(put({ ...step, text: step.text + 1 }), `text of ${step.name}`)
      const within = edit(step.inner, { random, told }, relabelled)
      const renamed = new Map([...within.renamed].map(([old, now]) => [`${step.name}/${old}`, now]))
      return { steps: put({ ...step, inner: within.steps }), renamed }
    }
    default:
      return kept(put({ ...step, text: step.text + 1 }), `text of ${step.name}`)
  }
}

/** What a person decides who knows which of the tasks were renamed. */
function decide(
  orphaned: readonly OrphanedTask[],
  known: ReadonlyMap<string, string>,
  random: Random,
): [Map<string, string>, Set<string>] {
  const renamed = new Map<string, string>()
  const removed = new Set<string>()
  for (const { task } of orphaned) {
    const now = known.get(task)
    if (now !== undefined && random.chance(0.7)) renamed.set(task, now)
    else removed.add(task)
  }
  return [renamed, removed]
}

/** What the functions of the code do, by the names of their tasks. */
function functionsOf(steps: readonly Step[]): Map<string, string> {
  return new Map(
    steps
      .flatMap((step) => [step, ...step.inner])
      .flatMap(
        ({ name, was, id }) =>
          [
            [name, id],
            [was ?? name, id],
          ] as const,
      ),
  )
}

/** Looks into the ledger before saying whether something happened, and lets nothing happen twice. */
function honest(
  question: OpenQuestion,
  {
    ledger,
    allowed,
    functions,
  }: { ledger: readonly string[]; allowed: Set<string>; functions: ReadonlyMap<string, string> },
): Answer {
  switch (question.kind) {
    case 'result':
      return { decision: 'approve' }
    case 'limit':
      return { decision: 'fail', reason: 'no limit was set' }
    case 'doubt':
    case 'call': {
      const input = question.input as { readonly id?: string }
      // a function has no input that names its effect: whoever asks the code knows it
      const id = input.id ?? functions.get(question.asking.at(-1)?.task ?? '') ?? ''
      const happened = ledger.includes(id)
      allowed.add(id)
      if (/^The answer to \w+ cannot be used: there is no tool/.test(question.text))
        return { decision: 'deny', reason: 'the tool has another name now' }
      if (question.kind === 'doubt')
        return happened ? { decision: 'happened', result: { did: id } } : { decision: 'run' }
      return happened ? { decision: 'use', result: { did: id } } : { decision: 'approve' }
    }
  }
}

/** A question that was open is open, answered, or withdrawn with a task that the person gave up. */
function checkQuestions(
  before: readonly string[],
  view: { readonly questions: readonly OpenQuestion[] },
  states: readonly RunState[],
  givenUp: ReadonlySet<string>,
  problems: string[],
): void {
  for (const asked of before) {
    const path = asked.slice(asked.indexOf(' ') + 1)
    if (view.questions.some((question) => question.path === path)) continue
    const found = states.flatMap(({ questions }) =>
      [...questions.values()].filter(({ question }) => path.endsWith(question.path)),
    )
    if (found.some(({ answer, used }) => answer !== undefined || used)) continue
    // asked anew by the next attempt, of a task that had recorded nothing yet
    if (found.some(({ question }) => states.some((state) => isReplaced(state, question.path)))) continue
    const tasks = path.split('/').flatMap((part) => (part.includes('#') ? [part.slice(0, part.indexOf('#'))] : []))
    const now = states.flatMap(({ attempts }) => attempts.get(path.split('/')[0] ?? '')?.task ?? [])
    if (![...tasks, ...now].some((task) => givenUp.has(task))) problems.push(`question ${asked} is gone`)
  }
}

function isReplaced({ attempts, tasks }: RunState, path: string): boolean {
  const attempt = attempts.get(path.split('/')[0] ?? '')
  return attempt?.status === 'void' && tasks.get(attempt.task)?.attempts.at(-1) !== attempt.path
}

/** A completed run has done, or given up by a decision, everything that it ever recorded. */
function checkEnd(states: readonly RunState[], run: string, givenUp: ReadonlySet<string>, problems: string[]): void {
  for (const state of states) {
    if (state.unanswered.size > 0 && state.status === 'completed')
      problems.push(`${state.run} ends with open questions`)
    if (state.run === run || state.status === 'completed') {
      for (const task of state.tasks.values()) {
        const done = task.status === 'completed' || task.status === 'skipped'
        const names = [task.name, ...task.attempts.map((path) => path.slice(0, path.indexOf('#')))]
        if ((!done || task.removed) && !names.some((name) => givenUp.has(name)))
          problems.push(
            `${state.run} is completed, and its task ${task.name} is ${task.removed ? 'removed' : task.status}`,
          )
      }
    } else if (state.status !== 'cancelled') {
      problems.push(`${state.run} is ${state.status}, and the run that it works for is completed`)
    }
  }
}

/** Every recorded result is that of the call whose input it was made from. */
async function checkResults(store: Store, run: string, problems: string[]): Promise<void> {
  for (const state of await allStates(store, run))
    for (const attempt of state.attempts.values())
      for (const { request, outcome, path } of attempt.turns.flatMap(({ calls }) => calls)) {
        const asked = (request.input as { readonly id?: string } | null)?.id
        const did = outcome && 'result' in outcome ? (outcome.result as { readonly did?: string }).did : undefined
        if (asked !== undefined && did !== undefined && asked !== did)
          problems.push(`${path} of ${state.run} asked for ${asked} and was given ${did}`)
      }
}

/** The ids of effects of which nothing is recorded that says they must not be repeated. */
async function uncalled(store: Store, run: string, steps: readonly Step[]): Promise<string[]> {
  const called = new Set<unknown>()
  for (const state of await allStates(store, run))
    for (const attempt of state.attempts.values())
      for (const { effect, request } of attempt.turns.flatMap(({ calls }) => calls))
        if (effect === 'once') called.add((request.input as { readonly id?: string } | null)?.id)
  return steps.flatMap((step) => [step, ...step.inner]).flatMap(({ id }) => (called.has(id) ? [] : [id]))
}

async function allStates(store: Store, run: string): Promise<RunState[]> {
  const states: RunState[] = []
  for await (const row of allRows(store, { root: run })) states.push((await readRun(store, row.run)).state)
  return states
}

function stepWords(steps: readonly Step[]): string {
  return steps
    .map(
      ({ name, kind, tool: { effect }, inner }) =>
        `${name}:${kind}:${effect}${kind === 'crew' ? `(${stepWords(inner)})` : ''}`,
    )
    .join(' ')
}
