// What a call must know of calls that other code made in the same run, or in the runs that it was made from. A process
// never changes its own code, so all of this is found once, when a life first needs it.
import type { OnceCall } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Effect, Tool } from '../../tools/tool.ts'
import type { CoworkerDefinition, CrewDefinition, Engine, TaskDefinition } from '../definition.ts'
import { callsOfOpenChildren } from '../task/child-calls.ts'
import { ofOtherRuns, onceCalls, toOnceCall } from './once.ts'
import type { Callable } from './prepare-call.ts'

export interface EarlierCalls {
  /**
   * Calls of tasks and tools that the crew does not have any more, here and in the runs that this one works for. A call
   * that the run has not seen may be one of them under another name.
   */
  strays(): Promise<readonly OnceCall[]>
  /** Whether an equal call was recorded as one that must not be repeated. */
  isOnce(item: Callable): boolean
}

interface Given {
  readonly engine: Engine
  readonly crew: CrewDefinition
  readonly state: RunState
  readonly outer?: { readonly strays: EarlierCalls['strays'] } | undefined
}

export function earlierCalls({ engine, crew, state, outer }: Given): EarlierCalls {
  let strays: Promise<readonly OnceCall[]> | undefined
  const findStrays = async (): Promise<readonly OnceCall[]> => {
    const own = onceCalls(state)
      .filter((call) => !(ofOtherRuns(call) && state.effects === 'again'))
      .map(toOnceCall)
    const calls = [...own, ...(await callsOfOpenChildren(engine, state))]
    const gone = calls.filter((call) => call.effect === undefined && !isServed(crew, call.task, call.tool))
    return [...gone, ...((await outer?.strays()) ?? [])]
  }
  const recorded = new Set(
    onceCalls(state).flatMap((call) => {
      const ignored = ofOtherRuns(call) && state.effects === 'again'
      if (!call.made || call.effect !== undefined || ignored) return []
      return [nameOf(isServed(crew, call.task, call.tool) ? call.task : undefined, call.tool, call.key)]
    }),
  )
  return {
    strays: () => (strays ??= findStrays()),
    isOnce: ({ task, tool, key }) =>
      namesOf(tool).some((name) => [task.name, undefined].some((of) => recorded.has(nameOf(of, name, key)))),
  }
}

const severity: readonly Effect[] = ['read', 'idempotent', 'once']

/** For a call that is on record, the stricter of what was recorded and what is declared now. */
export function effectOf(item: Callable): Effect {
  const { tool, call, life } = item
  const before = call.calledAt === undefined ? undefined : call.effect
  const stricter = severity.indexOf(before ?? 'read') > severity.indexOf(tool.effect) ? before : tool.effect
  return stricter !== 'once' && life.earlier.isOnce(item) ? 'once' : (stricter ?? tool.effect)
}

/** Whether a recorded call is one of this tool. A task that is a function has one tool, whatever it was called. */
export function isCallOf({ code }: TaskDefinition, tool: Tool | undefined, recorded: string): boolean {
  return code !== undefined || (tool !== undefined && namesOf(tool).includes(recorded))
}

function namesOf({ name, was = [] }: Tool): readonly string[] {
  return [name, ...was]
}

/**
 * Whether the crew still has the task and the tool of a call. `settle/pay` is task pay of the nested crew settle, which
 * looks for earlier names when its run is made; those of the run's own tasks are the current ones.
 */
function isServed(crew: CrewDefinition, place: string, tool: string, isNested = false): boolean {
  const [first = '', ...rest] = place.split('/')
  const task = crew.tasks.find(({ name, was }) => name === first || (isNested && was.includes(first)))
  if (!task) return false
  // which crews a function kicks off is not declared
  if (rest.length > 0 && task.code) return true
  if (rest.length > 0) return task.child !== undefined && isServed(task.child.crew, rest.join('/'), tool, true)
  return task.code !== undefined || toolsOf(task).some((one) => namesOf(one).includes(tool))
}

function toolsOf({ tools, coworkers }: { tools: readonly Tool[]; coworkers: readonly CoworkerDefinition[] }): Tool[] {
  return [...tools, ...coworkers.flatMap(toolsOf)]
}

/** Without a task: a call of any task that is gone. */
function nameOf(task: string | undefined, tool: string, key: string): string {
  return JSON.stringify([task ?? null, tool, key])
}
