// Checks that the tasks addressed by a caller's decisions exist, also in nested crews and in crews that functions kick
// off: `settle/payout`.
import { RepriseError } from '../../base/errors.ts'
import { childAddress, taskInPath } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { Store } from '../../stores/store.ts'
import type { TaskDecisions } from '../definition.ts'
import { readStateIfExists } from '../../read/read-run.ts'
import { activeChildren } from '../../journal/state/tally.ts'

/**
 * Rejects with OPTION_INVALID if a decision is about a task of a nested crew that is not in progress, unless that
 * decision is already recorded. `used`: the tasks whose decisions were checked elsewhere.
 */
export async function checkAddresses(
  state: RunState,
  { renamed = {}, removed = [] }: TaskDecisions,
  used: ReadonlySet<string>,
  store: Store | undefined,
): Promise<void> {
  for (const address of [...Object.keys(renamed), ...removed]) {
    const [first, ...rest] = address.split('/')
    if (rest.length === 0 || first === undefined || used.has(first)) continue
    if (state.taskChanges.some(({ renamed: before = {} }) => Object.hasOwn(before, first))) continue
    if (store && (await isDecided(state, address, store))) continue
    throw new RepriseError('OPTION_INVALID', `run ${state.run} has no task ${address} in progress`)
  }
}

/** Whether a child run, ended or not, has recorded a decision about the task. */
async function isDecided({ tasks, attempts }: RunState, address: string, store: Store): Promise<boolean> {
  const known = tasks.get(taskInPath(address))
  const children = [...(known?.attempts ?? []), ...(known?.nested ?? [])].flatMap((path) => {
    const at = childAddress(known?.name ?? '', path)
    return attempts.get(path)?.child !== undefined && address.startsWith(`${at}/`) ? [{ path, at }] : []
  })
  for (const { path, at } of children) {
    const child = await readStateIfExists(store, attempts.get(path)?.child ?? '')
    const rest = address.slice(at.length + 1)
    const isHere = child?.taskChanges.some(
      ({ renamed = {}, removed = [] }) => Object.hasOwn(renamed, rest) || removed.includes(rest),
    )
    if (child && (isHere || (await isDecided(child, rest, store)))) return true
  }
  return false
}

/**
 * Rejects with OPTION_INVALID if a decision is about a task that none of the unfinished runs kicked off by a function
 * has.
 */
export async function checkKickedOff(
  state: RunState,
  address: string,
  store: Store | undefined,
  { run, within }: { readonly run: string; readonly within: string } = { run: state.run, within: '' },
): Promise<void> {
  const [first = '', ...rest] = address.split('/')
  if (state.taskChanges.some(({ renamed = {} }) => Object.hasOwn(renamed, first))) return
  const children = activeChildren(state, first)
  const child = children.find(({ task }) => address.startsWith(`${task}/`))
  if (rest.length === 0 ? !isKnown(state, first) && !state.tasks.has(first) : !child) {
    const isTask = rest.length === 0 || children.length === 0
    const known = isTask ? [...state.tasks.keys()] : children.map(({ task }) => `${task}/…`)
    const words = `run ${run} has no task ${within}${address} in progress`
    throw new RepriseError('OPTION_INVALID', `${words}; it has ${known.map((name) => within + name).join(', ')}`)
  }
  const inner = child && store && (await readStateIfExists(store, child.run))
  if (!inner) return
  const deeper = { run, within: `${within}${child.task}/` }
  await checkKickedOff(inner, address.slice(child.task.length + 1), store, deeper)
}

/** Whether a decision can be about the task: the run has it, stops after it, or inherited calls of it. */
export function isKnown(state: RunState, name: string): boolean {
  const task = state.tasks.get(name)
  if (task && !task.removed) return true
  return state.through === name || state.inheritedCalls.some((call) => call.task.split('/')[0] === name)
}
