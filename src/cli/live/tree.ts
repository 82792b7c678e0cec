// The live view of a run: its tasks as a tree, each with its status, activity, time and cost. It is folded from the
// entries; only the text of replies in progress comes from elsewhere. Times come from the entries too, so a process
// that continues the run shows the same.
import type { Delta } from '../../engine/follow/listeners.ts'
import { costOfTask } from '../../engine/plan/estimate.ts'
import { readRun } from '../../engine/read/read-run.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import type { Entry } from '../../journal/entries.ts'
import { isNestedAttempt, parentPath, taskInPath } from '../../journal/paths.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import { spentOn, type RunState, type TaskState } from '../../journal/state/state.ts'
import { addCost } from '../../models/cost.ts'
import type { Prices } from '../../models/prices.ts'
import { taskViewStatus, type TaskViewStatus } from '../../runs/status.ts'
import { currentTasks } from '../../runs/task-view.ts'
import type { Store } from '../../stores/store.ts'

export interface LiveTask {
  readonly name: string
  readonly status: TaskViewStatus
  readonly agent: string | undefined
  /** What the task is doing, or why it waits or failed. */
  readonly activity: string
  readonly ms: number | undefined
  readonly tokens: number
  readonly cost: number | undefined
  /** The end of the reply that its model is writing. */
  readonly reply: string
  /** The tasks of a nested crew. */
  readonly tasks: readonly LiveTask[]
}

export interface LiveRun {
  readonly runId: string
  readonly crew: string
  readonly tasks: readonly LiveTask[]
  readonly ms: number
  readonly tokens: number
  readonly cost: number | undefined
}

export interface Tree {
  /** Receives entries of the run and of its child runs, in the order of each run. */
  onEntry(entry: Entry, run: string): Promise<void>
  /** Receives text of the root run's models. */
  onDelta(delta: Delta): void
  /** Undefined before the first entry. `now`: as `Date.now()`. */
  look(now: number): LiveRun | undefined
}

/** The rest of a long reply is not shown. */
const saidAtMost = 2000

interface WatchedRun {
  readonly state: RunState
  /** By task. */
  readonly doing: Map<string, string>
  /** When the last entry was recorded. */
  readonly last: Map<string, string>
  readonly costs: Map<string, number | undefined>
}

export function createTree(store: Store, prices: Prices | undefined, clock: () => number): Tree {
  const runs = new Map<string, WatchedRun>()
  const speeches = new Map<string, string>()
  let begin: number | undefined

  async function watch(entry: Entry, run: string): Promise<WatchedRun> {
    const known = runs.get(run)
    if (known) return known
    // a resumed run has earlier entries in the store
    const state = entry.type === 'run.created' ? emptyState() : (await readRun(store, run)).state
    const watched: WatchedRun = { state, doing: new Map(), last: new Map(), costs: new Map() }
    for (const { name } of state.tasks.values()) watched.costs.set(name, await costOfTask(state, name, prices))
    runs.set(run, watched)
    return watched
  }

  function lookAt({ state, doing, last, costs }: WatchedRun, now: number, main: boolean): LiveTask[] {
    const open = openQuestions(state)
    return currentTasks(state).map((task): LiveTask => {
      const child = task.attempts.map((path) => state.attempts.get(path)?.child).at(-1)
      const work = child === undefined ? undefined : runs.get(child)
      const tasks = work ? lookAt(work, now, false) : []
      const asked = tasks.some((inner) => inner.status === 'waiting') ? [...open, { path: task.name }] : open
      const status = taskViewStatus(state, task, true, asked)
      const { input, output } = spentOn(state, task)
      const own = input + output
      const said = main && status === 'running' ? saidBy(task.name) : ''
      return {
        name: task.name,
        status,
        agent: task.output?.agent ?? task.agent,
        activity: describeActivity(state, task, status, said === '' ? doing.get(task.name) : 'writes'),
        ms: taskDuration(task, now, last.get(task.name)),
        // the parent learns what a child run has spent when the child ends
        tokens: own === 0 ? tasks.reduce((sum, { tokens }) => sum + tokens, 0) : own,
        cost: tasks.length === 0 ? costs.get(task.name) : tasks.map(({ cost }) => cost).reduce(addCost, 0),
        reply: said,
        tasks,
      }
    })
  }

  function saidBy(task: string): string {
    return [...speeches].findLast(([path]) => taskInPath(path) === task)?.[1] ?? ''
  }

  return {
    async onEntry(entry, run) {
      begin ??= clock()
      const watched = await watch(entry, run)
      const { state } = watched
      if (entry.seq > state.seq) applyEntry(state, entry)
      const { path } = entry
      if (path === undefined) return
      // a child run may have the same paths
      if (entry.type === 'model.replied' && watched === runs.values().next().value) speeches.delete(path)
      const task = taskInPath(path)
      const words = doingAfter(state, entry, path)
      if (words !== undefined) watched.doing.set(task, words)
      watched.last.set(task, entry.at)
      watched.costs.set(task, await costOfTask(state, task, prices))
    },

    onDelta(delta) {
      if (delta.type === 'text.reset') speeches.delete(delta.path)
      if (delta.type !== 'text.delta') return
      speeches.set(delta.path, ((speeches.get(delta.path) ?? '') + delta.text).slice(-saidAtMost))
    },

    look(now) {
      const [root] = runs.values()
      if (!root) return undefined
      const tasks = lookAt(root, now, true)
      return {
        runId: root.state.run,
        crew: root.state.crew,
        tasks,
        ms: now - (begin ?? now),
        tokens: tasks.reduce((sum, task) => sum + task.tokens, 0),
        cost: tasks.map(({ cost }) => cost).reduce(addCost, 0),
      }
    },
  }
}

function describeActivity(state: RunState, task: TaskState, status: TaskViewStatus, doing: string | undefined): string {
  switch (status) {
    case 'running':
      return doing ?? 'continues'
    case 'waiting':
      return 'waits for a person'
    case 'inherited':
      return task.stale ? 'restored, stale' : 'restored'
    case 'started':
      return 'stopped'
    case 'edited':
    case 'skipped':
      return status
    case 'failed':
      return (task.error ?? state.error)?.message ?? 'failed'
    default:
      return ''
  }
}

/** From the start of the task to its end, to now, or to its last entry, if it was stopped or has failed. */
function taskDuration(
  { status, source, output, startedAt }: TaskState,
  now: number,
  last?: string,
): number | undefined {
  if (output && source !== 'executed') return undefined
  const start = output?.startedAt ?? startedAt
  if (start === undefined) return undefined
  const end = output?.completedAt ?? (status === 'running' ? undefined : last)
  return Math.max(0, (end === undefined ? now : Date.parse(end)) - Date.parse(start))
}

const aFunction = 'a function at work'

/** The activity of the task after this entry; undefined if the entry says nothing about it. */
function doingAfter(state: RunState, entry: Entry, path: string): string | undefined {
  switch (entry.type) {
    case 'task.started':
      if (entry.child) return isNestedAttempt(path) ? kickoffWords(state, path) : 'a crew at work'
      return withAgent(state, path, entry.code ? aFunction : 'asks the model')
    case 'task.completed':
      return state.attempts.get(path)?.child !== undefined && isNestedAttempt(path)
        ? kickoffWords(state, path)
        : undefined
    case 'model.replied': {
      const calls = entry.parts.flatMap((part) => (part.type === 'call' ? [part.tool] : []))
      return withAgent(state, parentPath(path), calls.length > 0 ? `calls ${calls.join(', ')}` : 'checks the answer')
    }
    case 'tool.called':
    case 'tool.returned':
      return withAgent(state, attemptOfCall(path), afterCall(state, path))
    case 'guardrail.judged':
      return entry.verdict === 'refused' ? `sent back: ${entry.reason ?? entry.guardrail}` : 'checks the answer'
    case 'context.summarised':
      return 'asks the model'
    case 'question.answered':
      return 'continues'
    default:
      return undefined
  }
}

/** The run that a function kicked off. */
function kickoffWords(state: RunState, path: string): string {
  const runs = [...(state.tasks.get(taskInPath(path))?.kickoffs?.values() ?? [])]
  const done = runs.filter((run) => state.attempts.get(run)?.status === 'completed')
  return `${done.length} of ${runs.length} ${runs.length === 1 ? 'run' : 'runs'} done`
}

function attemptOfCall(call: string): string {
  return parentPath(parentPath(call))
}

/** The calls of its turn that are in progress; when all have returned, the model is called next. */
function afterCall(state: RunState, call: string): string {
  const turn = state.attempts.get(attemptOfCall(call))?.turns.find(({ path }) => path === parentPath(call))
  // the journal records a function as a call that no model made
  if (turn?.reply.finish === 'code') return aFunction
  const open = turn?.calls.filter(({ outcome }) => !outcome) ?? []
  const begun = open.filter(({ calledAt }) => calledAt !== undefined)
  const tools = (begun.length > 0 ? begun : open).map(({ request }) => request.tool)
  return tools.length > 0 ? `calls ${tools.join(', ')}` : 'asks the model'
}

/** Delegated work is shown under the name of the other agent. */
function withAgent(state: RunState, attempt: string, words: string): string {
  const agent = isNestedAttempt(attempt) ? state.attempts.get(attempt)?.agent : undefined
  return agent === undefined || agent === '' ? words : `${agent} ${words}`
}
