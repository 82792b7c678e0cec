// The live view of a run: its tasks as a tree, each with its status, activity, time and cost. All of it is derived from
// the folded state, except the text of replies in progress: models stream it as deltas.
import type { Delta } from '../../read/listeners.ts'
import { costOfTask } from '../../read/costs.ts'
import { readRun } from '../../read/read-run.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import type { Entry } from '../../journal/entries.ts'
import { parentPath, taskInPath } from '../../journal/paths.ts'
import { callAt } from '../../journal/state/at-path.ts'
import { openQuestions } from '../../journal/state/open-questions.ts'
import { type AttemptState, type RunState, type TaskState } from '../../journal/state/state.ts'
import { spentOn } from '../../journal/state/spent.ts'
import { addCost, type Prices } from '../../models/cost.ts'
import { taskViewStatus, type TaskViewStatus } from '../../runs/status.ts'
import { groupName } from '../../journal/paths.ts'
import { currentTasks } from '../../runs/task-view.ts'
import type { Store } from '../../stores/store.ts'
import { longTime, plural } from '../../text/words.ts'

export interface LiveTask {
  readonly name: string
  readonly status: TaskViewStatus
  readonly agent: string | undefined
  /** What the task is doing, or why it is waiting or has failed. */
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
  /** Receives text of the models of the run and of its child runs. */
  onDelta(delta: Delta): void
  /** Undefined before the first entry. `now`: as `Date.now()`. */
  look(now: number): LiveRun | undefined
}

/** Only the end of a longer reply is shown. */
const maxReplyLength = 2000

/** How many steps of one name are shown below it. */
const mostSteps = 5

interface WatchedRun {
  readonly state: RunState
  /** When the last entry of a task was recorded. */
  readonly last: Map<string, string>
  readonly costs: Map<string, number | undefined>
  /** Kept, since a flow may have thousands of steps. */
  readonly tokens: Map<string, number>
}

export function createTree(store: Store, prices: Prices | undefined, clock: () => number): Tree {
  const runs = new Map<string, WatchedRun>()
  /** By the id of the followed run and the path, so by the id of a child run and the path in it, too. */
  const replies = new Map<string, string>()
  let begin: number | undefined

  async function watch(entry: Entry, run: string): Promise<WatchedRun> {
    const known = runs.get(run)
    if (known) return known
    // a resumed run has earlier entries in the store
    const state = entry.type === 'run.created' ? emptyState() : (await readRun(store, run)).state
    const watched: WatchedRun = { state, last: new Map(), costs: new Map(), tokens: new Map() }
    for (const { name } of state.tasks.values()) await noteSpent(watched, name)
    runs.set(run, watched)
    return watched
  }

  async function noteSpent({ state, costs, tokens }: WatchedRun, name: string): Promise<void> {
    costs.set(name, await costOfTask(state, name, prices))
    const task = state.tasks.get(name)
    if (!task) return
    const { input, output } = spentOn(state, task)
    tokens.set(name, input + output)
  }

  function lookAt(watched: WatchedRun, now: number): LiveTask[] {
    const { state, last, costs, tokens: spent } = watched
    const open = openQuestions(state)
    return state.flow ? lookAtGroups() : currentTasks(state).map(lookAtTask)

    function lookAtTask(task: TaskState): LiveTask {
      const child = task.attempts.map((path) => state.attempts.get(path)?.child).at(-1)
      const childRun = child === undefined ? undefined : runs.get(child)
      const tasks = childRun ? lookAt(childRun, now) : []
      const questions = tasks.some((inner) => inner.status === 'waiting') ? [...open, { path: task.name }] : open
      const status = taskViewStatus(state, task, true, questions)
      const own = spent.get(task.name) ?? 0
      // the tasks below it show what they say
      const reply = tasks.length === 0 && status === 'running' ? replyOf(state.run, task.name) : ''
      return {
        name: task.name,
        status,
        agent: task.output?.agent ?? task.agent,
        activity: reply === '' ? describeActivity(state, task, status) : 'writes',
        ms: taskDuration(task, now, last.get(task.name)),
        // the parent learns what a child run has spent when the child ends
        tokens: own === 0 ? tasks.reduce((sum, { tokens }) => sum + tokens, 0) : own,
        cost: tasks.length === 0 ? costs.get(task.name) : tasks.map(({ cost }) => cost).reduce(addCost, 0),
        reply,
        tasks,
      }
    }

    /** The steps of a flow by name. Those in progress, or failed, are shown below the name. */
    function lookAtGroups(): LiveTask[] {
      const groups = new Map<string, TaskState[]>()
      for (const step of state.tasks.values()) {
        const group = groups.get(groupName(step.name))
        if (group) group.push(step)
        else groups.set(groupName(step.name), [step])
      }
      return [...groups].map(([name, steps]): LiveTask => {
        const [only] = steps
        if (only?.name === name && steps.length === 1) return lookAtTask(only)
        const unsettled = steps.filter(({ status }) => status === 'running')
        const failed = steps.filter(({ status }) => status === 'failed')
        const tasks = [...unsettled, ...failed].slice(0, mostSteps).map(lookAtTask)
        const done = steps.length - unsettled.length - failed.length
        const words = [
          `${done} done`,
          unsettled.length > 0 && `${unsettled.length} open`,
          failed.length > 0 && `${failed.length} failed`,
        ]
        return {
          name,
          status: tasks[0]?.status ?? 'executed',
          agent: undefined,
          activity: words.filter(Boolean).join(', '),
          ms: undefined,
          tokens: steps.reduce((sum, step) => sum + (spent.get(step.name) ?? 0), 0),
          cost: steps.map((step) => costs.get(step.name)).reduce(addCost, 0),
          reply: '',
          tasks,
        }
      })
    }
  }

  function replyOf(run: string, task: string): string {
    const isOfTask = (key: string): boolean =>
      key.startsWith(`${run}/`) && taskInPath(key.slice(run.length + 1)) === task
    return [...replies].findLast(([key]) => isOfTask(key))?.[1] ?? ''
  }

  return {
    async onEntry(entry, run) {
      begin ??= clock()
      const watched = await watch(entry, run)
      const { state } = watched
      if (entry.seq > state.seq) applyEntry(state, entry)
      const { path } = entry
      if (path === undefined) return
      if (entry.type === 'model.replied') replies.delete(`${run}/${path}`)
      const task = taskInPath(path)
      watched.last.set(task, entry.at)
      await noteSpent(watched, task)
    },

    onDelta(delta) {
      const [root] = runs.keys()
      const key = `${root}/${delta.path}`
      if (delta.type === 'text.reset' || delta.type === 'text.end') replies.delete(key)
      if (delta.type === 'text.delta') replies.set(key, ((replies.get(key) ?? '') + delta.text).slice(-maxReplyLength))
    },

    look(now) {
      const [root] = runs.values()
      if (!root) return undefined
      const tasks = lookAt(root, now)
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

function describeActivity(state: RunState, task: TaskState, status: TaskViewStatus): string {
  switch (status) {
    case 'running':
      return describeWork(state, task)
    case 'waiting':
      return 'waits for a person'
    case 'inherited':
      return task.stale ? 'restored, stale' : 'restored'
    case 'started':
      return 'stopped'
    case 'sleeping':
      return waitWords(task)
    case 'edited':
    case 'skipped':
      return status
    case 'failed':
      return (task.error ?? state.error)?.message ?? 'failed'
    default:
      return ''
  }
}

function waitWords({ name, wait, until }: TaskState): string {
  const what = wait === 'event' ? `waits for event ${groupName(name)}` : 'sleeps'
  return until === undefined ? what : `${what} until ${longTime(until)}`
}

/**
 * Returns the ms from the task's start to its end. Without an end: to now if its stored status is `running`, else to
 * its last entry. Undefined for a task that was not executed in this run.
 */
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

/** Describes what a running task is doing, from its newest attempt and the attempts nested in it. */
function describeWork(state: RunState, task: TaskState): string {
  const attempt = state.attempts.get(task.attempts.at(-1) ?? '')
  if (!attempt) return 'continues'
  if (attempt.child !== undefined) return 'a crew at work'
  const kickoffs = [...(task.kickoffs?.values() ?? [])]
  if (kickoffs.length === 0) return attemptWords(state, task, attempt)
  const done = kickoffs.filter((path) => state.attempts.get(path)?.status === 'completed')
  return `${done.length} of ${plural(kickoffs.length, 'run')} done`
}

function attemptWords(state: RunState, task: TaskState, attempt: AttemptState): string {
  const last = attempt.turns.at(-1)
  if (attempt.status === 'refused') return `sent back: ${attempt.refusal || attempt.refusedBy}`
  if (last?.reply.finish === 'code') return 'a function at work'
  const inner = workWithin(state, task, attempt)
  // delegated work is shown under the name of the other agent
  if (inner) return `${inner.agent} ${attemptWords(state, task, inner)}`.trimStart()
  if (!last) return 'asks the model'
  if (last.calls.length === 0)
    return (attempt.summary?.seq ?? 0) > last.reply.seq ? 'asks the model' : 'checks the answer'
  const open = last.calls.filter(({ outcome }) => !outcome)
  const started = open.filter(({ calledAt }) => calledAt !== undefined)
  const tools = (started.length > 0 ? started : open).map(({ request }) => request.tool)
  return tools.length > 0 ? `calls ${tools.join(', ')}` : 'asks the model'
}

/** Returns the newest open attempt nested in the current step of an attempt: a delegation, a judge, a summary. */
function workWithin(
  state: RunState,
  task: TaskState,
  { path, turns, summary }: AttemptState,
): AttemptState | undefined {
  const since = Math.max(turns.at(-1)?.reply.seq ?? 0, summary?.seq ?? 0)
  const inner = task.nested.map((nested) => state.attempts.get(nested))
  return inner.findLast((attempt) => {
    if (attempt?.status !== 'open' || attempt.seq < since) return false
    const step = parentPath(attempt.path)
    const call = callAt(state, step)
    return call ? !call.outcome && parentPath(parentPath(step)) === path : step === path
  })
}
