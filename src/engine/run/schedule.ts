// Which tasks of a run are executed when. What a task is given decides, never timing: it starts when everything in its context is
// done and, in a sequential crew, when every earlier task that is not async is. Several may be under way at once. When one fails,
// no other is begun and those under way end behind their current step, so that what was paid for is recorded.
import { messageOf, RepriseError } from '../../errors.ts'
import type { NewEntry } from '../../journal/entries.ts'
import { openQuestions, type RunState } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import { tellOfEnd, tellOfSteps, tellOfTasks } from './call-back.ts'
import { childOf, hasAnswers } from '../task/children.ts'
import { unlessAborted } from '../limits/deadline.ts'
import type { CrewDefinition, ExecuteOptions, TaskDefinition } from '../definition.ts'
import { executeTask } from '../task/execute-task.ts'
import type { Hold } from '../lease/hold.ts'
import { drainInbox } from '../people/inbox.ts'
import { writeOutputFiles } from './write-output-files.ts'
import { inheritance } from '../plan/inheritance.ts'
import { skip } from './so-far.ts'
import { waitsFor } from './waits-for.ts'
import type { Waker } from './waker.ts'

/** Executes what can be executed, and gives the entry that the run ends or pauses with. Rejects with the first failure. */
export async function executeTasks(
  hold: Hold,
  crew: CrewDefinition,
  options: ExecuteOptions,
  waker: Waker,
): Promise<NewEntry> {
  const { through } = options
  const end = through === undefined ? crew.tasks.length : crew.tasks.findIndex((task) => task.name === through) + 1
  const wanted = crew.tasks.slice(0, end)
  const running = new Map<string, Promise<void>>()
  /** Tasks that wait for an answer, with how many answers there were when they began to. */
  const waiting = new Map<string, number>()
  let failure: { readonly error: unknown } | undefined

  const begin = (task: TaskDefinition): void => {
    waiting.delete(task.name)
    const work = executeTask(hold, crew, task, { ...options, halted: () => failure !== undefined })
    const over = work
      .then(
        (outcome) => void (outcome === 'suspended' && waiting.set(task.name, answered(hold.state))),
        (error: unknown) => void (failure ??= { error: hold.signal.aborted ? error : at(error, task.name) }),
      )
      .finally(() => void running.delete(task.name))
    running.set(task.name, over)
  }

  try {
    for (;;) {
      hold.signal.throwIfAborted()
      // a person's edit waits until no task is under way whose ground it would pull away; until then nothing new is begun
      const inbox = await drainInbox(hold, { edits: running.size === 0 })
      hold.signal.throwIfAborted()
      if (failure && running.size === 0) throw failure.error
      const { seq } = hold.state
      await writeOutputFiles(hold, crew)
      await tellOfSteps(hold, crew)
      await unlessAborted(tellOfTasks(hold, crew), hold.signal)
      const ready =
        failure || inbox.editsWait || running.size >= crew.concurrency
          ? undefined
          : wanted.find((task) => isReady(hold.state, crew, task, running, waiting))
      if (ready) {
        const done = await unlessAborted(withoutExecuting(hold, crew, ready), hold.signal)
        if (done) await hold.append([done])
        else begin(ready)
      } else if (running.size > 0) {
        await Promise.race([...running.values(), waker.woken()])
      } else if (!failure && !inbox.editsWait) {
        const goOn = await answeredChildren(hold, waiting)
        for (const task of goOn) waiting.delete(task)
        // what has come while others were told is looked at once more
        if (goOn.length === 0 && hold.state.seq === seq) break
      }
    }
  } finally {
    await Promise.allSettled(running.values())
  }
  if (waiting.size > 0) {
    const open = openQuestions(hold.state)
    if (open.length > 0) {
      const limit = open.every((question) => question.kind === 'limit')
      return { type: 'run.suspended', reason: limit ? 'limit' : 'questions' }
    }
    const children = [...waiting.keys()].flatMap((name) => childOf(hold.state, name)?.path ?? [])
    return { type: 'run.suspended', ...(children.length > 0 ? { reason: 'child', children } : { reason: 'parent' }) }
  }
  if (through !== undefined && end < crew.tasks.length) return { type: 'run.suspended', reason: 'through', through }
  await unlessAborted(tellOfEnd(hold, crew), hold.signal)
  return { type: 'run.completed' }
}

function isReady(
  state: RunState,
  crew: CrewDefinition,
  task: TaskDefinition,
  running: ReadonlyMap<string, unknown>,
  waiting: ReadonlyMap<string, number>,
): boolean {
  if (isDone(state, task.name) || running.has(task.name)) return false
  if ((waiting.get(task.name) ?? -1) >= answered(state)) return false
  return waitsFor(crew, task).every((name) => isDone(state, name))
}

function isDone(state: RunState, task: string): boolean {
  const status = state.tasks.get(task)?.status
  return status === 'completed' || status === 'skipped'
}

/** Tasks that wait for a run of their own whose questions were answered while others were under way. */
async function answeredChildren({ state, engine }: Hold, waiting: ReadonlyMap<string, unknown>): Promise<string[]> {
  const goOn: string[] = []
  for (const task of waiting.keys()) {
    const child = childOf(state, task)
    if (child && (await hasAnswers(engine.store, child.run))) goOn.push(task)
  }
  return goOn
}

/** Only a new answer can let a task go on that waits for one. Whether it is the one, the task finds out. */
function answered(state: RunState): number {
  return [...state.questions.values()].filter(({ answer, withdrawn }) => answer ?? withdrawn).length
}

async function withoutExecuting(hold: Hold, crew: CrewDefinition, task: TaskDefinition): Promise<NewEntry | undefined> {
  if (task.when) await hold.ready()
  return (await skip(hold, crew, task)) ?? (await inheritance(hold, crew, task))
}

/** Says at which task it happened: others may be under way. */
function at(error: unknown, task: string): RepriseError {
  if (!RepriseError.isInstance(error))
    return new RepriseError('TASK_FAILED', redact(messageOf(error)), { task, cause: error })
  if (error.task !== undefined) return error
  return new RepriseError(error.code, error.message, { runId: error.runId, task, cause: error.cause ?? error })
}
