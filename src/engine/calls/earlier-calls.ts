// What a call must know of calls that other code made in the same run, or in the runs that it was made from. A process
// never changes its own code, so all of this is found once, when a life first needs it.
import type { OnceCall } from '../../journal/entries.ts'
import { childName } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import { isDone } from '../../journal/state/tally.ts'
import type { Effect, Tool } from '../../tools/tool.ts'
import type {
  CoworkerDefinition,
  CrewDefinition,
  Engine,
  ExecuteOptions,
  TaskDecisions,
  TaskDefinition,
} from '../definition.ts'
import { decisionsWithin, pastNames } from '../run/compare-tasks.ts'
import { callsOfOpenChildren } from '../task/child-calls.ts'
import { isFromOtherRun, onceCalls, toOnceCall } from './once.ts'
import type { CallableCall } from './prepare-call.ts'

export interface EarlierCalls {
  /**
   * Calls of tasks, tools and kickoffs that the code does not have any more, here and in the runs that this one works
   * for. A call that the run has not seen may be one of them under another name. `within`: the task that asks for a
   * child run of it.
   */
  unclaimed(within?: string): Promise<readonly OnceCall[]>
  /** Whether an equal call was recorded as one that must not be repeated. */
  isOnce(item: CallableCall): Promise<boolean>
}

interface EarlierCallsOptions {
  readonly engine: Engine
  readonly crew: CrewDefinition
  readonly options: Pick<ExecuteOptions, 'decisions'>
  readonly state: RunState
  /** The crews that functions have kicked off in this life, by address. */
  readonly kickedOff: ReadonlyMap<string, CrewDefinition>
  readonly parent?: { strays(): Promise<readonly OnceCall[]> } | undefined
}

export function earlierCalls({ engine, crew, options, state, kickedOff, parent }: EarlierCallsOptions): EarlierCalls {
  let calls: Promise<readonly OnceCall[]> | undefined
  const findCalls = async (): Promise<readonly OnceCall[]> => {
    const own = onceCalls(state)
      .filter((call) => !(isFromOtherRun(call) && state.effects === 'again'))
      .map(toOnceCall)
    const below = await callsOfOpenChildren(engine, state)
    const decided = below.map((call) => ({ ...call, task: placeDecided(state, options.decisions, call.task) }))
    return [...own, ...decided].filter((call) => call.effect === undefined)
  }
  /** Which crews a function kicks off is known when it is called: until then, its own children count as gone. */
  const isLeft = ({ task: place, tool }: OnceCall, within: string | undefined): boolean => {
    const [name = '', kickoff = '', ...rest] = place.split('/')
    const inner = kickedOff.get(`${name}/${kickoff}`)
    if (inner) return !isServedBy(inner, rest, tool)
    const task = state.tasks.get(name)
    if (!task || !isDone(task)) return name === within
    return !task.nested.some((path) => {
      const attempt = state.attempts.get(path)
      return attempt?.status === 'completed' && attempt.child !== undefined && childName(path) === kickoff
    })
  }
  const isStray = (call: OnceCall, within: string | undefined): boolean => {
    const found = locateCall(crew, state, call)
    return found === 'kickoff' ? isLeft(call, within) : found === 'gone'
  }
  const recorded = new Set(
    onceCalls(state).flatMap((call) => {
      const ignored = isFromOtherRun(call) && state.effects === 'again'
      if (!call.made || call.effect !== undefined || ignored) return []
      return [callIdentity(call.task, call.tool, call.key)]
    }),
  )
  const strays = async (within?: string): Promise<readonly OnceCall[]> => {
    calls ??= findCalls()
    const own = (await calls).filter((call) => isStray(call, within))
    return [...own, ...((await parent?.strays()) ?? [])]
  }
  return {
    unclaimed: strays,
    async isOnce({ task, tool, key }) {
      const names = toolNames(tool)
      if (names.some((name) => recorded.has(callIdentity(task.name, name, key)))) return true
      return (await strays()).some((call) => !call.given && names.includes(call.tool) && call.key === key)
    },
  }
}

const severity: readonly Effect[] = ['read', 'idempotent', 'once']

/** For a call that is on record, the stricter of what was recorded and what is declared now. */
export async function effectiveEffect(item: CallableCall): Promise<Effect> {
  const { tool, call, life } = item
  const before = call.calledAt === undefined ? undefined : call.effect
  const stricter = severity.indexOf(before ?? 'read') > severity.indexOf(tool.effect) ? before : tool.effect
  return stricter !== 'once' && (await life.earlier.isOnce(item)) ? 'once' : (stricter ?? tool.effect)
}

/** Whether a recorded call is one of this tool. A task that is a function has one tool, whatever it was called. */
export function isCallOfTool({ code }: TaskDefinition, tool: Tool | undefined, recorded: string): boolean {
  return code !== undefined || (tool !== undefined && toolNames(tool).includes(recorded))
}

function toolNames({ name, was = [] }: Tool): readonly string[] {
  return [name, ...was]
}

/** A place in a child run, under the names that this resume has decided and the child run may not have recorded yet. */
function placeDecided(state: RunState, decisions: TaskDecisions = {}, place: string): string {
  const [first = '', ...rest] = place.split('/')
  const { renamed = {} } = decisionsWithin(decisions, pastNames(state, first))
  const now = rest.map((name, index) => renamed[rest.slice(0, index + 1).join('/')] ?? name)
  return [first, ...now].join('/')
}

/** Where the code has the task and the tool of a call: in the crew, in a kickoff of a function, or nowhere. */
function locateCall(
  crew: CrewDefinition,
  { taskChanges }: RunState,
  { task: place, tool }: Pick<OnceCall, 'task' | 'tool'>,
): 'here' | 'kickoff' | 'gone' {
  const [name = '', ...rest] = place.split('/')
  const task = crew.tasks.find((one) => one.name === name)
  if (!task) return 'gone'
  if (task.code && rest.length > 0) return 'kickoff'
  // its call is recorded under the name that the task had
  const names = [name, ...task.was, ...taskChanges.flatMap(({ renamed = {} }) => Object.keys(renamed))]
  if (task.code) return names.includes(tool) ? 'here' : 'gone'
  return hasTool(task, rest, tool) ? 'here' : 'gone'
}

/** A nested crew looks for earlier names of its tasks when its run is made. */
function hasTool(task: TaskDefinition, [name, ...rest]: readonly string[], tool: string): boolean {
  if (name === undefined) return task.code !== undefined || allTools(task).some((one) => toolNames(one).includes(tool))
  // which crews a function kicks off is not declared
  return task.code !== undefined || (task.child !== undefined && isServedBy(task.child.crew, [name, ...rest], tool))
}

function isServedBy(crew: CrewDefinition, [name = '', ...rest]: readonly string[], tool: string): boolean {
  const task = crew.tasks.find((one) => one.name === name || one.was.includes(name))
  return task !== undefined && hasTool(task, rest, tool)
}

function allTools({ tools, coworkers }: { tools: readonly Tool[]; coworkers: readonly CoworkerDefinition[] }): Tool[] {
  return [...tools, ...coworkers.flatMap(allTools)]
}

function callIdentity(task: string, tool: string, key: string): string {
  return JSON.stringify([task, tool, key])
}
