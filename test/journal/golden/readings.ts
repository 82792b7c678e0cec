// What readers see of an exported run and its child runs: views, timelines, and what engine and workers depend on. Only
// what follows from the journal alone: no texts of today's code, no prices.
import { callsToInherit } from '../../../src/engine/calls/once.ts'
import { prepareImport, writeImport } from '../../../src/engine/history/import-run.ts'
import { openEngine, realWorld } from '../../../src/engine/world.ts'
import type { Json } from '../../../src/journal/json.ts'
import {
  isEnded,
  type AttemptState,
  type CallState,
  type RunState,
  type TaskState,
} from '../../../src/journal/state/state.ts'
import { readRun } from '../../../src/read/read-run.ts'
import { listingRow } from '../../../src/read/row.ts'
import { viewRun, type RunView } from '../../../src/runs/run-view.ts'
import { currentTasks, type TaskView } from '../../../src/runs/task-view.ts'
import { addEntry, emptyTimeline, type Timeline } from '../../../src/runs/timeline.ts'
import { memoryStore } from '../../../src/stores/memory/store.ts'

/** Reads an exported run as it was at the export: `crew.import` would park it. */
export async function readingsOf(exported: string): Promise<{ readonly [run: string]: Json }> {
  const store = memoryStore({ url: 'memory:readings' })
  const engine = openEngine(store, realWorld())
  const chain = await prepareImport(engine, [exported], 'the golden journal', { park: false })
  await writeImport(engine, chain)
  const runs: { [run: string]: Json } = {}
  for (const { row, due = null } of chain.flat()) {
    const timeline = emptyTimeline(row.run)
    const { state } = await readRun(store, row.run, (entry) => addEntry(timeline, entry))
    const view = await viewRun({ store }, row.run)
    const readings = {
      ...pick(view, viewed),
      tasks: view.tasks.map((task) => ({
        ...pick(task, viewedOfTasks),
        // an unfinished run has the same messages as the finished one
        messages: isEnded(state.status) ? task.messages : undefined,
      })),
      ...pick(state, known),
      known: currentTasks(state).map((task) => ({
        ...pick(task, knownOfTasks),
        output: task.output && pick(task.output, [['within', 'uncounted', 'limited', 'failures']]),
      })),
      attempts: [...state.attempts.values()].map(({ turns, ...attempt }) => ({
        ...pick(attempt, knownOfAttempts),
        turns: turns.map(({ reply, calls }) => ({
          ...pick(reply, [['last', 'paused', 'model', 'tries']]),
          calls: calls.map((call) => pick(call, knownOfCalls)),
        })),
      })),
      priority: row.priority,
      calls: callsToInherit(state),
      listed: JSON.parse(listingRow(state).summary) as Json,
      due,
      timeline: timelineWords(timeline),
    }
    runs[row.run] = JSON.parse(
      JSON.stringify(readings, (_, value: unknown) => (value instanceof Set ? [...value] : value)),
    ) as Json
  }
  return runs
}

function pick<T extends object, K extends keyof T>(from: T, names: readonly (readonly K[])[]): Pick<T, K> {
  return Object.fromEntries(names.flat().map((name) => [name, from[name]])) as Pick<T, K>
}

const viewed: readonly (readonly Exclude<keyof RunView, 'tasks'>[])[] = [
  ['crew', 'version', 'status', 'inputs', 'parent', 'caller', 'createdAt', 'lives', 'done', 'failed', 'total', 'flow'],
  ['usage', 'openQuestions', 'error', 'dueAt', 'raw', 'questions', 'failures', 'plan', 'taskChanges', 'waits'],
  ['events', 'left', 'orphaned', 'via'],
]

const viewedOfTasks: readonly (readonly (keyof TaskView)[])[] = [
  ['name', 'agent', 'status', 'attempts', 'usage', 'startedAt', 'completedAt', 'raw', 'sources', 'files'],
  ['outputFile', 'from', 'stale', 'error', 'child', 'of', 'item', 'step'],
]

/** State that no view shows, but that the engine or a worker depends on. */
const known: readonly (readonly Exclude<keyof RunState, 'tasks'>[])[] = [
  ['given', 'effects', 'reuse', 'trials', 'through', 'module', 'seed', 'previous', 'budget', 'inheritedCalls'],
  ['failures', 'fruitless', 'activeMs', 'told', 'failedSteps', 'eventIds', 'steps', 'lastAfter', 'lost'],
]

const knownOfTasks: readonly (readonly (keyof TaskState)[])[] = [
  ['condition', 'fingerprint', 'timedOut', 'restarts', 'told', 'offered', 'failed', 'childCalls', 'lost', 'lostBefore'],
]

const knownOfAttempts: readonly (readonly Exclude<keyof AttemptState, 'turns'>[])[] = [
  ['path', 'accepted', 'refusal', 'refusedBy', 'uncounted', 'summary', 'answer', 'lost'],
]

const knownOfCalls: readonly (readonly (keyof CallState)[])[] = [
  ['path', 'effect', 'key', 'idempotencyKey', 'input', 'calledAt', 'times', 'allowedBy', 'cacheKey', 'abandoned'],
  ['source', 'stack', 'thrown', 'questions'],
]

function timelineWords({ lives, attempts, given, questions }: Timeline): Json {
  const words = (...parts: readonly (string | number | undefined)[]): string =>
    parts.map((part) => part ?? '-').join(' ')
  return {
    lives: lives.map(({ from, to, end, holder, via }) => words(from, to, end, holder?.name, holder?.pid, via?.id)),
    attempts: attempts.flatMap(({ path, task, within, agent, model, from, to, status, child, because, steps }) => [
      words(path, status, task, within, agent, model, from, to, child, because.join('; ')),
      ...steps.map((step) => words(step.path, step.status, step.name, step.source, step.from, step.to, step.words)),
    ]),
    given: given.map(({ task, as, at, from, by }) => words(task, as, at, from, by)),
    questions: questions.map(({ id, path, from, to, decision, by }) => words(id, path, from, to, decision, by)),
  }
}
