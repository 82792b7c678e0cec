// A kickoff inside a function task becomes a child run, executed like a nested crew (execute-child.ts), in an attempt
// within the call of the function: `chapters#1/1.0/intro#1`. The function is called again after a crash, or when a
// suspended child can continue. A kickoff then finds its run by name, if the inputs are the same, also in an
// earlier attempt at the task. With other inputs, it gets a new attempt and a new run.
import { defined } from '../../base/options.ts'
import { RepriseError } from '../../base/errors.ts'
import { digest } from '../../journal/hash.ts'
import { attemptNumber, attemptPath, childAddress, childRunId } from '../../journal/paths.ts'
import type { AttemptState, RunState } from '../../journal/state/state.ts'
import { attemptsSinceDone, type ChildAttempt, activeChildren } from '../../journal/state/tally.ts'
import type { CrewDefinition, ExecuteOptions, Inputs, TaskDefinition } from '../definition.ts'
import type { Life } from '../life.ts'
import { cancelChild } from '../inbox/inbox.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import type { OpenedRun } from '../run/resume-run.ts'
import {
  childAccount,
  childOnQuestion,
  checkIsChild,
  childDecisions,
  executeChildRun,
  openChildRun,
  uncountedRuns,
  withinBudget,
  type ChildAccount,
  type ChildWork,
} from './execute-child.ts'
import { runCode, type FunctionCall } from './function-call.ts'

export interface FunctionKickoff {
  readonly name: string
  readonly crew: CrewDefinition
  readonly options: ExecuteOptions
  /** Whether the run was kicked off with the inputs of this kickoff. */
  isSame(state: RunState): boolean
  make: ChildWork['make']
}

/** A child run that was created or resumed for a kickoff. */
export interface ActiveKickoff {
  readonly engine: Life['engine']
  readonly opened: OpenedRun
  /** Resolves with the state when the kickoff has a result. Stays pending if the run is suspended. */
  execute(): Promise<RunState>
  /** Resolves when the run is suspended. */
  readonly waits: Promise<void>
}

/**
 * Returns the name of a kickoff: the id it was given, less the id of the parent run, so that a replay has the same
 * names. Without an id, it is the crew and a digest of the inputs. Kickoffs of one crew with equal inputs are
 * interchangeable, so they are numbered.
 */
export function kickoffName(call: FunctionCall, id: string | undefined, crew: string, inputs: Inputs): string {
  if (id !== undefined) return pathSafe(withoutRun(id, call.life.state.run) || crew)
  const name = `${pathSafe(crew)}-${digest(inputs).slice(0, 8)}`
  const number = (call.names.get(name) ?? 0) + 1
  call.names.set(name, number)
  return number === 1 ? name : `${name}-${number}`
}

function withoutRun(id: string, run: string): string {
  return id.startsWith(run) ? id.slice(run.length).replace(/^[-_.:/ ]+/, '') : id
}

/** Makes a string usable in a path or a name: escapes special characters, and limits the length to 80. */
export function pathSafe(text: string): string {
  const plain = text.replaceAll(/[%/#\u0000-\u001f\u007f]/g, encodeURIComponent)
  return plain.length <= 80 ? plain : `${plain.slice(0, 60).toWellFormed()}~${digest(text).slice(0, 12)}`
}

/**
 * Creates or resumes the child run of a kickoff. Rejects with RUN_HELD if a kickoff with that name is in progress, and
 * with the errors with which a kickoff or resume refuses a run.
 */
export async function kickoffChild(call: FunctionCall, kickoff: FunctionKickoff): Promise<ActiveKickoff> {
  const { life } = call
  const { name, crew } = kickoff
  if (call.inProgress.has(name)) {
    const run = life.state.attempts.get(life.state.tasks.get(call.task.name)?.kickoffs?.get(name) ?? '')?.child
    const words = `${run ?? `the kickoff ${name}`} is already being executed by this process; await that call, or give another id`
    throw new RepriseError('RUN_HELD', words, { runId: run })
  }
  const ended = Promise.withResolvers<void>()
  const over = (): void => {
    call.inProgress.delete(name)
    ended.resolve()
  }
  call.inProgress.set(name, ended.promise)
  life.kickedOff.set(childAddress(call.task.name, attemptPath(name, 1, call.path)), crew)
  try {
    const attempt = await attemptAt(call, kickoff)
    const signals = [call.signal, ...(kickoff.options.signal ? [kickoff.options.signal] : [])]
    const { handsBack, changed } = life.options
    const work: ChildWork = {
      engine: life.engine,
      crew,
      attempt,
      options: {
        handsBack,
        changed,
        onQuestion: childOnQuestion(life, attempt),
        ...defined(kickoff.options),
        decisions: childDecisions(life, attempt),
        signal: AbortSignal.any(signals),
        next: null,
      },
      make: kickoff.make,
    }
    const opened = await openChildRun(life, work)
    const waits = Promise.withResolvers<void>()
    return {
      engine: work.engine,
      opened,
      waits: waits.promise,
      async execute() {
        try {
          // kickoffs by the child's tools and guardrails are not kickoffs of this function
          const state = await runCode(undefined, () => executeKickoff(call, work, opened))
          if (state) return state
        } finally {
          over()
        }
        call.wait()
        waits.resolve()
        return new Promise(() => {})
      },
    }
  } catch (error) {
    over()
    if (isForFunction(error, life.state.run)) throw error
    call.fail(error)
    return new Promise(() => {})
  }
}

/** Returns the newest attempt with that name if its inputs are the same, or starts one. */
async function attemptAt(call: FunctionCall, { name, crew, isSame }: FunctionKickoff): Promise<AttemptState> {
  const { life, task, path } = call
  const { state, engine } = life
  const last = state.attempts.get(state.tasks.get(task.name)?.kickoffs?.get(name) ?? '')
  if (last) {
    const found = await readStateIfExists(engine.store, last.child as string)
    // the run of this attempt was never created
    if (!found && last.status === 'open') return last
    if (found) checkIsChild(state, last, found)
    if (found?.crew === crew.name && isSame(found)) return last
    if (found) life.crew.logger.warn(`run ${found.run} was kicked off with other inputs; a new run is executed`)
  }
  let number =
    last && attemptPath(name, attemptNumber(last.path), path) === last.path ? attemptNumber(last.path) + 1 : 1
  const next = (): string => attemptPath(name, number, path)
  // a deleted parent may have left child runs with these ids
  while (state.attempts.has(next()) || (await engine.store.row(childRunId(state.run, next())))) number += 1
  const started = next()
  await life.append([{ type: 'task.started', path: started, fingerprint: {}, child: true }])
  return state.attempts.get(started) as AttemptState
}

/** Executes the child run. Returns the state for the function, or undefined if the child is suspended. */
async function executeKickoff(call: FunctionCall, work: ChildWork, first: OpenedRun): Promise<RunState | undefined> {
  const { life, task, signal } = call
  const { path } = work.attempt
  let unused: OpenedRun | undefined = first
  let state: RunState | undefined
  try {
    state = await withinBudget({ life, task }, path, async (outer) => {
      const opened = unused ?? (await openChildRun(life, work))
      unused = undefined
      return executeChildRun(life, work, opened, outer)
    })
  } catch (error) {
    if (signal.aborted) return undefined
    if (!isForFunction(error, life.state.run)) {
      call.fail(error)
      return undefined
    }
    call.delivered.add(path)
    throw error
  }
  // a message was recorded after the child was suspended
  if (state?.woken) life.mailBelow.notify()
  if (state?.status === 'completed') {
    if (work.attempt.status !== 'completed') {
      const account = await childAccount(life, [childAddress(task.name, path)], state)
      await life.append([{ type: 'task.completed', path, structured: false, ...account }])
    }
  } else if (signal.aborted || !state || !stoppedAsRequested(state, work.options)) {
    if (!signal.aborted) warnOfOnce(call, path)
    return undefined
  }
  call.delivered.add(path)
  for (const run of uncountedRuns(state)) call.uncounted.add(run)
  return state
}

/** Whether the function receives an error, and may catch it. Errors that stop its run or fail its task are withheld. */
function isForFunction(error: unknown, run: string): boolean {
  if (!RepriseError.isInstance(error)) return true
  if (error.code === 'TASKS_CHANGED') return false
  return error.runId !== run && !['STORE_UNAVAILABLE', 'STORE_FAILED', 'LEASE_LOST'].includes(error.code)
}

/** Whether the child stopped where the function asked it to, by `through` or `signal`. */
function stoppedAsRequested({ suspended }: RunState, { through }: ExecuteOptions): boolean {
  return suspended?.reason === 'stopped' || (through !== undefined && suspended?.reason === 'through')
}

function warnOfOnce({ life, task }: FunctionCall, path: string): void {
  if (task.code?.effect !== 'once') return
  const words = `function ${task.name} waits for run ${childRunId(life.state.run, path)}; because its effect is once, a person must allow the next call: declare effect: 'idempotent' if it can be repeated`
  if (life.warned.has(words)) return
  life.warned.add(words)
  life.crew.logger.warn(words)
}

/**
 * Cancels the children whose outcome the function did not receive before it returned: suspended children, and
 * children that only an earlier call kicked off.
 */
export async function cancelUnusedChildren({ life, task, delivered }: FunctionCall): Promise<void> {
  const { state, tree, engine, crew } = life
  for (const { path, run } of activeChildren(state, task.name)) {
    if (delivered.has(path)) continue
    const cancelled = await tree.exclusively(() => cancelChild(engine, tree, run))
    if (cancelled) crew.logger.warn(`run ${run} was cancelled: function ${task.name} returned without its result`)
  }
}

/** Accounts for the child runs that a function has left unfinished. */
export async function unfinishedAccount(life: Life, task: TaskDefinition): Promise<Partial<ChildAccount>> {
  const addresses = unfinishedChildren(life, task).map(({ path }) => childAddress(task.name, path))
  return addresses.length > 0 ? childAccount(life, [...new Set(addresses)]) : {}
}

export function unfinishedChildren({ state }: Life, { name }: TaskDefinition): ChildAttempt[] {
  const known = state.tasks.get(name)
  return known ? attemptsSinceDone(state, known) : []
}
