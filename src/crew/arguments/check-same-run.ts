// Checks that an existing run comes from the same call: with the same inputs, and for a fork, with the same origin.
import type { Inputs } from '../../engine/definition.ts'
import { isRowOfRun } from '../../read/incarnation.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Parent } from '../../journal/entries.ts'
import { describeFiles } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { canonicalJson, type Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { NewRunRequest } from '../verbs/fork.ts'
import { resolveInputs, type RawInputs } from './run-inputs.ts'
import { ownMember } from '../../base/options.ts'
import type { Store } from '../../stores/store.ts'

export function hasSameInputs(state: RunState, given: RawInputs): boolean {
  const before = state.given ?? state.inputs
  return digest(resolveInputs(given, before, true)) === digest(before)
}

/** Throws INPUTS_DIFFER if the run was started with other inputs. The message names the differences. */
export function checkSameInputs(state: RunState, given: RawInputs): void {
  if (hasSameInputs(state, given)) return
  const before = state.given ?? state.inputs
  const inputs = resolveInputs(given, before, true)
  const names = [...new Set([...Object.keys(before), ...Object.keys(inputs)])]
  const words = differences(before, inputs, names)
  throw new RepriseError('INPUTS_DIFFER', `run ${state.run} was started with other inputs: ${words}`, {
    runId: state.run,
    next: { type: 'fork', runId: state.run },
  })
}

/** Checks the run that already has the id of a fork. Rejects with INPUTS_DIFFER if another call made it. */
export async function checkSameOrigin(store: Store, state: RunState, request: NewRunRequest): Promise<void> {
  const other = await otherOrigin(store, state, request)
  if (other === undefined) return
  throw new RepriseError('INPUTS_DIFFER', `run ${state.run} ${other}; use another id`, { runId: state.run })
}

/** Returns how the origin of the run differs from the request; undefined if it does not. */
async function otherOrigin(store: Store, state: RunState, request: NewRunRequest): Promise<string | undefined> {
  const { parent } = state
  const { run, from } = request
  if (!parent) return 'is not a fork'
  if (run !== undefined && run !== parent.run) return `was forked from run ${parent.run}`
  if (run !== undefined && (await isAnotherRun(store, parent)))
    return `was forked from an earlier run ${run}, deleted since`
  if (parent.from !== from?.name)
    return parent.from === undefined ? 'was forked without `from`' : `was forked from task ${parent.from}`
  const before = state.given ?? state.inputs
  const inputs = resolveInputs(request.given, before, true)
  const names = Object.keys(inputs).filter(
    (name) => shownValue(ownMember(inputs, name)) !== shownValue(ownMember(before, name)),
  )
  if (names.length > 0) return `was forked with other inputs: ${differences(before, inputs, names)}`
  return parent.request === requestDigest(request, inputs)
    ? undefined
    : 'was forked with other inputs, outputs or policies'
}

/** Whether the id of the parent now belongs to another run. False if the parent was merely deleted. */
async function isAnotherRun(store: Store, { run, incarnation }: Parent): Promise<boolean> {
  const row = await store.row(run)
  return row !== undefined && !isRowOfRun(row, incarnation)
}

/** Returns a digest of the arguments that determine a fork, except for the run that it starts from. */
export function requestDigest(request: NewRunRequest, inputs: Inputs): string {
  const { from, only, retry, outputs, stale, effects, decisions } = request
  const outputTexts = [...(outputs ?? [])].map(([task, { raw }]) => [task, raw])
  return digest([
    from?.name ?? null,
    only ?? null,
    inputs,
    outputTexts,
    stale,
    effects ?? 'reuse',
    decisions.renamed ?? {},
    [...(decisions.removed ?? [])],
    retry ?? null,
  ])
}

function differences(before: Inputs, now: Inputs, names: readonly string[]): string {
  return names
    .filter((name) => shownValue(ownMember(now, name)) !== shownValue(ownMember(before, name)))
    .map(
      (name) =>
        `${name} was ${shorten(shownValue(ownMember(before, name)))} and is ${shorten(shownValue(ownMember(now, name)))}`,
    )
    .join('; ')
}

function shownValue(value: Json | undefined): string {
  return value === undefined ? 'not given' : canonicalJson(describeFiles(value))
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
