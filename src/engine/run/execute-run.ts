// Executes a run from the end of its journal until it is completed, suspended, failed, or handed back to the workers
// because its time is up. The order of tasks depends on the journal, never on timing: a task starts when everything in
// its context is done and, in a sequential crew, every earlier task that is not async. Several may be in progress at
// once. When a task fails, no other task starts, and tasks in progress end after their current step, so that paid work
// is recorded. With `onTaskFailure: 'continue'`, only tasks that declare the failed task as their context are skipped.
import type { NewEntry } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { CrewDefinition, ExecuteOptions, TaskDefinition } from '../definition.ts'
import type { Hold } from '../lease/hold.ts'
import type { Life, ParentContext } from '../life.ts'
import { createNotifier, serially, seriallyByName } from '../../base/notifier.ts'
import { earlierCalls } from '../calls/earlier-calls.ts'
import { unlessAborted, isTimeUp } from '../limits/time.ts'
import { drainInbox } from '../inbox/inbox.ts'
import { inheritanceEntry } from '../plan/inheritance.ts'
import type { RunTracing } from '../tracing.ts'
import { executeTask } from '../task/execute-task.ts'
import { continueWithoutTask } from '../task/fail-task.ts'
import { callAfterKickoff, callOnStep, callTaskCallbacks, writeOutputFiles } from './after-task.ts'
import { executeFlow } from '../flow/execute-flow.ts'
import { endRun, withFailedTask, handedBack, stopped } from './end-run.ts'
import { childrenToContinue, suspension } from './suspension.ts'
import { completeList, isListTask, openList } from './for-each.ts'
import { taskScheduler, type TaskScheduler } from './task-scheduler.ts'
import { skipEntry } from './task-context.ts'

/** Resolves with the state of a completed or suspended run; rejects if it failed, was cancelled or lost its lease. */
export async function executeRun(
  hold: Hold,
  crew: CrewDefinition,
  options: ExecuteOptions,
  outer?: ParentContext,
  tracing?: RunTracing,
): Promise<RunState> {
  const untraced = tracing ? undefined : hold.engine.tracing
  if (untraced) return untraced.run(hold.state, (traced) => executeRun(hold, crew, options, outer, traced))
  const life = newLife(hold, { crew, options, parent: outer, tracing, executeRun })
  const stop = (): void => life.stop(options.handsBack ? handedBack : stopped)
  options.signal?.addEventListener('abort', stop, { once: true })
  if (options.signal?.aborted) stop()
  const watching = watchInbox(life)
  let failure: { readonly error: unknown } | undefined
  try {
    // `end` returns false if a message arrived meanwhile, which is handled first
    while (!(await life.end(await (crew.flow ? executeFlow(life, crew.flow) : executeTasks(life)))));
  } catch (error) {
    failure = { error }
  } finally {
    options.signal?.removeEventListener('abort', stop)
  }
  return endRun(life, failure, watching)
}

/**
 * Executes all tasks that can be executed, and returns the entry with which the run ends or pauses. Rejects with the
 * first failure.
 */
async function executeTasks(life: Life): Promise<NewEntry> {
  const { crew, state, signal, waker } = life
  const { through } = state
  const end = through === undefined ? crew.tasks.length : crew.tasks.findIndex((task) => task.name === through) + 1
  const running = new Map<string, Promise<void>>()
  const schedule = taskScheduler(state, crew, end, running)

  const begin = (task: TaskDefinition): void => {
    schedule.begin(task)
    const execution = executeTask(life, task)
      .then(
        (outcome) => void (outcome === 'suspended' && schedule.wait(task)),
        async (error: unknown) => {
          if (await continuesWithoutTask(life, task, error)) return
          life.failure ??= { error: signal.aborted ? error : withFailedTask(error, task.name) }
        },
      )
      .catch((error: unknown) => void (life.failure ??= { error }))
      .finally(() => {
        running.delete(task.name)
        waker.notify()
      })
    running.set(task.name, execution)
  }

  try {
    for (;;) {
      signal.throwIfAborted()
      // from here on, a notification causes another round
      waker.consume()
      // a person's edit could invalidate the work of a task in progress, so it waits until there is none; no new task
      // starts before it
      const inbox = await drainInbox(life, { edits: running.size === 0 })
      signal.throwIfAborted()
      if (life.failure && running.size === 0) throw life.failure.error
      const { seq } = state
      const changed = schedule.changed()
      await writeOutputFiles(life, changed)
      await callOnStep(life)
      await unlessAborted(callTaskCallbacks(life, changed), signal)
      for (const task of await childrenToContinue(life, schedule.waiting())) schedule.continue(task)
      const ready = life.failure || inbox.editsWait || running.size >= crew.concurrency ? undefined : schedule.next()
      const isOver = life.tree.slice.over || (ready !== undefined && isTimeUp(life.tree.slice, life.engine.world))
      if (isOver && running.size === 0) return { type: 'run.yielded' }
      if (ready && !isOver) {
        let isBegun: boolean
        try {
          isBegun = await beginsElsewhere(life, schedule, ready)
        } catch (error) {
          if (await continuesWithoutTask(life, ready, error)) continue
          throw error
        }
        if (!isBegun) begin(ready)
      } else if (running.size > 0) {
        await waker.wait()
      } else if (!life.failure && !inbox.editsWait) {
        // look once more if anything was recorded in this round, for example by a callback
        if (state.seq === seq) break
      }
    }
  } catch (error) {
    // the tasks in progress stop before their next step
    life.failure ??= { error }
    throw error
  } finally {
    await Promise.allSettled(running.values())
  }
  const waiting = schedule.waiting()
  if (waiting.length > 0) return suspension(life, waiting)
  if (through !== undefined && end < crew.tasks.length) return { type: 'run.suspended', reason: 'through', through }
  await unlessAborted(callAfterKickoff(life), signal)
  return { type: 'run.completed' }
}

/** Records a task's failure if the run continues without the task; otherwise returns false. */
async function continuesWithoutTask(life: Life, { name }: TaskDefinition, error: unknown): Promise<boolean> {
  return !life.signal.aborted && continueWithoutTask(life, name, withFailedTask(error, name))
}

/**
 * Does what a task needs whose turn does not begin an attempt here: it is skipped, inherits an output, or has a list,
 * whose items are begun instead. Returns false for all other tasks.
 */
async function beginsElsewhere(life: Life, schedule: TaskScheduler, task: TaskDefinition): Promise<boolean> {
  if (schedule.isOpen(task)) {
    await completeList(life, task)
    return true
  }
  const entry = await unlessAborted(entryWithoutExecution(life, task), life.signal)
  if (entry) await life.append([entry])
  else if (isListTask(task)) schedule.openList(task, await openList(life, task))
  else return false
  return true
}

/** Returns the entry of a task that is skipped, or that inherits a stored output. */
async function entryWithoutExecution(life: Life, task: TaskDefinition): Promise<NewEntry | undefined> {
  if (task.when) await life.ready()
  return (await skipEntry(life, task)) ?? (await inheritanceEntry(life, task))
}

type LifeOptions = Pick<Life, 'crew' | 'options' | 'tracing' | 'parent' | 'executeRun'>

function newLife(hold: Hold, parts: LifeOptions): Life {
  if (!parts.parent) hold.tree.slice.until = parts.options.until
  const kickedOff = new Map<string, CrewDefinition>()
  const missingSteps = (): readonly string[] => life.pass?.missing() ?? []
  const life: Life = {
    ...hold,
    ...parts,
    pass: undefined,
    failure: undefined,
    failedSteps: undefined,
    waker: createNotifier(),
    asked: new Map(),
    kickedOff,
    earlier: earlierCalls({ engine: hold.engine, state: hold.state, kickedOff, missingSteps, ...parts }),
    warned: new Set(),
    keys: new Map(),
    unwritten: new Map(),
    childRuns: parts.parent?.within ?? hold.engine.within ?? new Map(),
    reported: { seq: hold.state.told ?? 0 },
    queue: { steps: serially(), budget: serially(), events: serially(), equalCalls: seriallyByName() },
  }
  return life
}

// Reads the inbox during the execution, so that a cancellation does not wait for the model. Hints from the store, and
// the message counts that appends and renewals return, show when there may be messages.

/** Reads messages until the life is over. */
async function watchInbox(life: Life): Promise<void> {
  await Promise.all([followHints(life), readMail(life)])
}

async function followHints({ engine, state, signal, hint }: Life): Promise<void> {
  try {
    for await (const _ of engine.store.watch(state.run, signal, 'messages')) hint()
  } catch {
    // without hints, the message counts of appends and renewals remain
  }
}

async function readMail(life: Life): Promise<void> {
  const { engine, signal, mail } = life
  try {
    for (;;) {
      await mail.wait(signal)
      // retried after a failure, since the next hint may take long
      while (!(await readInbox(life))) await engine.world.sleep(1_000, signal)
    }
  } catch {
    // the life is over
  }
}

/** Reads the inbox. Returns false if that failed, unless the life is over. */
function readInbox(life: Life): Promise<boolean> {
  return drainInbox(life, { edits: false }).then(
    () => {
      // the message may be for a child run
      life.waker.notify()
      return true
    },
    () => life.signal.aborted,
  )
}
