// The `once` calls made before this process took the run: in this run, in its child runs, and in the runs that it was
// forked from. Tasks, tools and kickoffs may have been renamed since, so a new call may be one of these under another
// name. Loaded once, since the code of a process does not change.
import type { OnceCall } from '../../journal/entries.ts'
import { childName, taskOfItem } from '../../journal/paths.ts'
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
import { declaredTask } from '../run/for-each.ts'
import { callsOfOpenChildren } from '../task/children.ts'
import { isFromOtherRun, onceCalls, toOnceCall } from './once.ts'
import type { CallableCall } from './prepare-call.ts'

export interface EarlierCalls {
  /** Reads the journals of child runs, on the first call only. Await it before you call the other methods. */
  load(): Promise<void>
  /**
   * Returns the calls of tasks, tools and kickoffs that the code no longer has, in this run and its parents. `within`:
   * the address of the child run for which they are listed.
   */
  unclaimed(within?: string): readonly OnceCall[]
  /** Whether an equal call was recorded as `once`. */
  isOnce(call: Pick<CallableCall, 'task' | 'tool' | 'key'>): boolean
}

interface EarlierCallsOptions {
  readonly engine: Engine
  readonly crew: CrewDefinition
  readonly options: Pick<ExecuteOptions, 'decisions'>
  readonly state: RunState
  /** The crews that functions have kicked off in this process, by address. */
  readonly kickedOff: ReadonlyMap<string, CrewDefinition>
  /** Flows: the recorded steps that the function should have requested by now, but has not. */
  missingSteps(): readonly string[]
  readonly parent: { readonly address: string; readonly earlier: Pick<EarlierCalls, 'load' | 'unclaimed'> } | undefined
}

/**
 * A call whose task or tool today's code may not have. For a call in a kickoff by a function this is uncertain, because
 * the crew that the function kicks off is only known once it does.
 */
interface UnplacedCall {
  readonly call: OnceCall
  readonly isKickoff: boolean
}

export function earlierCalls({
  engine,
  crew,
  options,
  state,
  kickedOff,
  missingSteps,
  parent,
}: EarlierCallsOptions): EarlierCalls {
  let loading: Promise<void> | undefined
  let unplaced: readonly UnplacedCall[] = []
  /** The calls of the steps of a flow, by step. */
  let byStep: ReadonlyMap<string, readonly OnceCall[]> = new Map()
  let onceIdentities: ReadonlySet<string> = new Set()

  const load = async (): Promise<void> => {
    const records = onceCalls(state).filter((call) => !(isFromOtherRun(call) && state.effects === 'again'))
    const startedOnce = records.filter((call) => call.made && call.effect === undefined)
    onceIdentities = new Set(startedOnce.map((call) => callIdentity(call.task, call.tool, call.key)))
    const [childCalls] = await Promise.all([callsOfOpenChildren(engine, state), parent?.earlier.load()])
    const renamed = childCalls.map((call) => ({ ...call, task: applyRenames(state, options.decisions, call.task) }))
    const all = [...records.map(toOnceCall), ...renamed]
    if (crew.flow) {
      const once = all.filter((call) => call.effect === undefined)
      byStep = Map.groupBy(once, (call) => call.task.split('/')[0] ?? '')
      return
    }
    unplaced = all.flatMap((call) => {
      const location = call.effect === undefined ? locateCall(crew, state, call) : 'crew'
      return location === 'crew' ? [] : [{ call, isKickoff: location === 'kickoff' }]
    })
  }

  const isUnclaimed = ({ call, isKickoff }: UnplacedCall, within: string | undefined): boolean => {
    if (!isKickoff) return true
    const [name = '', kickoff = '', ...rest] = call.task.split('/')
    const inner = kickedOff.get(`${name}/${kickoff}`)
    if (inner) return !hasTaskWithTool(inner, rest, call.tool)
    const task = state.tasks.get(name)
    // not kicked off yet by this process: other kickoffs of the same function count it as unclaimed, and so does the
    // same kickoff by another function, to which it may have moved
    if (!task || !isDone(task)) {
      const [nameWithin, kickoffWithin] = within?.split('/') ?? []
      return name === nameWithin || kickoff === kickoffWithin
    }
    return !task.nested.some((path) => {
      const attempt = state.attempts.get(path)
      return attempt?.status === 'completed' && attempt.child !== undefined && childName(path) === kickoff
    })
  }

  const ownUnclaimed = (within?: string): OnceCall[] =>
    crew.flow
      ? missingSteps().flatMap((step) => byStep.get(step) ?? [])
      : unplaced.filter((item) => isUnclaimed(item, within)).map(({ call }) => call)

  return {
    load: () => (loading ??= load()),
    unclaimed(within) {
      const own = ownUnclaimed(within)
      if (!parent) return own
      // the parent's list also has the calls that this run recorded or inherited
      const known = new Set(own.map((call) => recordIdentity(`${parent.address}/${call.task}`, call)))
      return [...own, ...parent.earlier.unclaimed().filter((call) => !known.has(recordIdentity(call.task, call)))]
    },
    isOnce({ task, tool, key }) {
      const names = toolNames(tool)
      const isEqual = (call: OnceCall): boolean => !call.given && call.key === key && names.includes(call.tool)
      return (
        names.some((name) => onceIdentities.has(callIdentity(task.name, name, key))) ||
        ownUnclaimed().some(isEqual) ||
        (parent?.earlier.unclaimed() ?? []).some(isEqual)
      )
    },
  }
}

const severity: readonly Effect[] = ['read', 'idempotent', 'once']

/**
 * Returns the effect that counts: for a started call, the stricter of the recorded and the declared effect; for a call
 * that equals a recorded `once` call, `once`.
 */
export function effectiveEffect(item: CallableCall): Effect {
  const { tool, call, life } = item
  const before = call.calledAt === undefined ? undefined : call.effect
  const stricter = severity.indexOf(before ?? 'read') > severity.indexOf(tool.effect) ? before : tool.effect
  return stricter !== 'once' && life.earlier.isOnce(item) ? 'once' : (stricter ?? tool.effect)
}

/** Whether `recorded` is a present or past name of this tool. A function task has one tool, so any name matches. */
export function isCallOfTool({ code }: TaskDefinition, tool: Tool | undefined, recorded: string): boolean {
  return code !== undefined || (tool !== undefined && toolNames(tool).includes(recorded))
}

function toolNames({ name, was = [] }: Tool): readonly string[] {
  return [name, ...was]
}

/** Applies this resume's renames to the address of a task in a child run, which may not have recorded them yet. */
function applyRenames(state: RunState, decisions: TaskDecisions = {}, address: string): string {
  const [first = '', ...rest] = address.split('/')
  const { renamed = {} } = decisionsWithin(decisions, pastNames(state, first))
  const now = rest.map((name, index) => renamed[rest.slice(0, index + 1).join('/')] ?? name)
  return [first, ...now].join('/')
}

/** Returns where the code has the task and tool of a call. `kickoff`: perhaps in a crew kicked off by a function. */
function locateCall(
  crew: CrewDefinition,
  { taskChanges }: RunState,
  { task: address, tool }: Pick<OnceCall, 'task' | 'tool'>,
): 'crew' | 'kickoff' | 'gone' {
  const [name = '', ...rest] = address.split('/')
  const task = declaredTask(crew, name)
  if (!task) return 'gone'
  if (task.code && rest.length > 0) return 'kickoff'
  // the call of a function task is recorded under the name that the task had then; that of an item with its key
  const names = [task.name, ...task.was, ...taskChanges.flatMap(({ renamed = {} }) => Object.keys(renamed))]
  if (task.code) return names.includes(task.name === name ? tool : (taskOfItem(tool) ?? tool)) ? 'crew' : 'gone'
  return hasTool(task, rest, tool) ? 'crew' : 'gone'
}

function hasTool(task: TaskDefinition, [name, ...rest]: readonly string[], tool: string): boolean {
  if (name === undefined) return task.code !== undefined || allTools(task).some((one) => toolNames(one).includes(tool))
  // the crews that a function kicks off are not declared
  return (
    task.code !== undefined || (task.child !== undefined && hasTaskWithTool(task.child.crew, [name, ...rest], tool))
  )
}

function hasTaskWithTool(crew: CrewDefinition, [name = '', ...rest]: readonly string[], tool: string): boolean {
  // the steps of a flow are found while it runs, and it knows which are missing
  if (crew.flow) return true
  const task = crew.tasks.find((one) => one.name === name || one.was.includes(name))
  return task !== undefined && hasTool(task, rest, tool)
}

function allTools({ tools, coworkers }: { tools: readonly Tool[]; coworkers: readonly CoworkerDefinition[] }): Tool[] {
  return [...tools, ...coworkers.flatMap(allTools)]
}

function recordIdentity(address: string, { tool, key, occurrence, calledAt }: OnceCall): string {
  return JSON.stringify([address, tool, key, occurrence, calledAt])
}

function callIdentity(task: string, tool: string, key: string): string {
  return JSON.stringify([task, tool, key])
}
