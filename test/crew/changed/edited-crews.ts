// Random crews, random edits of their code, and the expected outcome of a run. Each task has an external effect with an
// id that stays the same whatever the task, its tool or its kind is called: two effects with one id are a double
// payment.
import { setImmediate as turn } from 'node:timers/promises'
import { Crew, RepriseError, type OpenQuestion } from 'reprise'
import type { Answer, OrphanedTask } from '../../../src/journal/entries.ts'
import type { RunState } from '../../../src/journal/state/state.ts'
import { allRows } from '../../../src/read/all-rows.ts'
import { readRun } from '../../../src/read/read-run.ts'
import type { Store } from '../../../src/stores/store.ts'
import { dieAt } from '../../crash/mortal.ts'
import type { Random } from '../../storm/random.ts'
import { allSteps, edit, quiet, randomStep, stepWords, tasksOf, type Edited, type Step } from './random-edits.ts'

export interface History {
  readonly told: readonly string[]
  readonly problems: readonly string[]
}

/** One run of a random crew that is edited and killed until it is completed, with everything that went wrong. */
export async function editedHistory(store: Store, random: Random, seed: number): Promise<History> {
  const told: string[] = []
  const problems: string[] = []
  const ledger: string[] = []
  const allowed = new Set<string>()
  /** Every task that the person has given up. */
  const givenUp = new Set<string>()
  const run = `run-${seed}`
  let steps: readonly Step[] = Array.from({ length: 2 + random.below(3) }, (_, at) =>
    randomStep(random, `${'abcde'[at]}`),
  )
  if (random.chance(0.4)) steps = steps.map((step, at) => (at === 0 ? { ...step, kind: 'kickoffs' } : step))
  let renamed = new Map<string, string>()
  const kickedOff = new Map<string, string>()
  let decided = new Set<string>()
  let open: readonly string[] = []
  let finished = false

  const crewOf = (on: Store): Crew =>
    new Crew({ name: 'edited', tasks: tasksOf(steps, ledger), store: on, logger: quiet })
  const queued = random.chance(0.3)
  if (queued) await crewOf(store).enqueue({ id: run })

  for (let life = 1; life <= 80 && !finished; life++) {
    const killed = life <= 3 && random.chance(0.8)
    const at = killed ? `${random.chance(0.5) ? 'before' : 'after'}:${1 + random.below(16)}` : ''
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
        // decisions about tasks that are gone
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
    if (view.orphaned.length > 0) [renamed, decided] = decide(view.orphaned, { renamed, kickedOff }, random)
    for (const name of decided) givenUp.add(name.split('/').at(-1) ?? '')
    for (const question of view.questions) {
      if (random.chance(0.3)) continue
      const answer = honest(question, { ledger, allowed, functions: functionsOf(steps) })
      told.push(`  ${question.id} ${question.text.slice(0, 160)} -> ${answer.decision}`)
      await crew.run(run).answer(question.id, answer)
    }
    open = (await crew.run(run).view()).questions.map(({ id, path }) => `${id} ${path}`)
    finished = view.status === 'completed'
    if (finished || life > 3) continue
    for (let edits = 0; edits < 2 && random.chance(0.7 - 0.4 * edits); edits++) {
      const exempt = new Set(await uncalled(store, run, steps))
      const current = view.tasks.findIndex(({ status }) => ['started', 'waiting', 'failed'].includes(status))
      const next = edit(
        steps,
        { random, told, givenUp, at: steps[current] && random.chance(0.7) ? current : undefined },
        (id) => exempt.has(id) && allowed.add(`relabelled ${id}`),
      )
      steps = next.steps
      renamed = new Map([...renamed, ...next.renamed])
      for (const [old, now] of next.kickedOff) kickedOff.set(old, now)
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

/** The decisions of a person who knows which tasks were renamed. */
function decide(
  orphaned: readonly OrphanedTask[],
  known: Pick<Edited, 'renamed' | 'kickedOff'>,
  random: Random,
): [Map<string, string>, Set<string>] {
  const renamed = new Map<string, string>()
  const removed = new Set<string>()
  for (const { task } of orphaned) {
    let now = known.renamed.get(task)
    for (let name = task.split('/').at(-1); name !== undefined; name = known.kickedOff.get(name))
      now = known.kickedOff.get(name) ?? now
    if (now !== undefined && random.chance(0.7)) renamed.set(task, now)
    else removed.add(task)
  }
  return [renamed, removed]
}

/** What the functions of the code do, by the names of their tasks. */
function functionsOf(steps: readonly Step[]): Map<string, string> {
  return new Map(
    allSteps(steps).flatMap(({ name, was, id }) => [
      [name, id],
      [was ?? name, id],
    ]),
  )
}

/** Answers for a person, who looks into the ledger before deciding whether a call happened. */
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
    case 'value':
      return { decision: 'fail', reason: 'no limit was set, and no flow asks' }
    case 'doubt':
    case 'call': {
      const input = question.input as { readonly id?: string }
      // the input of a function does not name its effect, so look it up in the code
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

/** Checks that each open question stays open, is answered, or is withdrawn with a task that the person gave up. */
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
    // the next attempt of a task without a record asks again
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

/** Checks that a completed run has finished, or given up by a decision, everything that it recorded. */
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

/** Checks that every recorded result belongs to the input of its call. */
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

/** Ids of effects that may be repeated, since no record forbids it. */
async function uncalled(store: Store, run: string, steps: readonly Step[]): Promise<string[]> {
  const called = new Set<unknown>()
  for (const state of await allStates(store, run))
    for (const attempt of state.attempts.values())
      for (const { effect, request } of attempt.turns.flatMap(({ calls }) => calls))
        if (effect === 'once') called.add((request.input as { readonly id?: string } | null)?.id)
  return allSteps(steps).flatMap(({ id }) => (called.has(id) ? [] : [id]))
}

async function allStates(store: Store, run: string): Promise<RunState[]> {
  const states: RunState[] = []
  for await (const row of allRows(store, { root: run })) states.push((await readRun(store, row.run)).state)
  return states
}
