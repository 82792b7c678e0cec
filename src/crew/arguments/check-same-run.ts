// Whether a run that is there already is the one that a call means: one with the same inputs, or made in the same way.
import type { Inputs } from '../../engine/definition.ts'
import { isRowOfRun } from '../../engine/read/incarnation.ts'
import { RepriseError } from '../../base/errors.ts'
import type { Parent } from '../../journal/entries.ts'
import { describeFiles } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { canonicalJson, type Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { NewRunRequest } from '../verbs/plan-new-run.ts'
import { resolveInputs, type RawInputs } from './raw-inputs.ts'
import { ownMember } from '../../base/options.ts'
import type { Store } from '../../stores/store.ts'

export function hasSameInputs(state: RunState, given: RawInputs): boolean {
  const before = state.given ?? state.inputs
  return digest(resolveInputs(given, before, true)) === digest(before)
}

/** INPUTS_DIFFER. */
export function checkSameInputs(state: RunState, given: RawInputs): void {
  if (hasSameInputs(state, given)) return
  const before = state.given ?? state.inputs
  const inputs = resolveInputs(given, before, true)
  const names = [...new Set([...Object.keys(before), ...Object.keys(inputs)])]
  const words = differences(before, inputs, names)
  throw new RepriseError('INPUTS_DIFFER', `run ${state.run} was started with other inputs: ${words}`, {
    runId: state.run,
    next: { act: 'fork', runId: state.run },
  })
}

/** A run that is to be made under an id that is taken must be the one that was made by the same call. */
export async function checkSameOrigin(store: Store, state: RunState, request: NewRunRequest): Promise<void> {
  const other = await otherOrigin(store, state, request)
  if (other === undefined) return
  throw new RepriseError('INPUTS_DIFFER', `run ${state.run} was made ${other}; use another id`, { runId: state.run })
}

async function otherOrigin(store: Store, state: RunState, request: NewRunRequest): Promise<string | undefined> {
  const { parent } = state
  const { run, from } = request
  if (!parent) return 'from no other run'
  if (run !== undefined && run !== parent.run) return `from run ${parent.run}`
  if (run !== undefined && (await isAnotherRun(store, parent))) return `from another run ${run}, which was deleted`
  if (parent.from !== from?.name) return `from ${parent.from === undefined ? 'no task' : `task ${parent.from}`} on`
  const before = state.given ?? state.inputs
  const inputs = resolveInputs(request.given, before, true)
  const names = Object.keys(inputs).filter(
    (name) => shownValue(ownMember(inputs, name)) !== shownValue(ownMember(before, name)),
  )
  if (names.length > 0) return `with other inputs: ${differences(before, inputs, names)}`
  return parent.request === requestDigest(request, inputs) ? undefined : 'with other inputs, outputs or policies'
}

/** Whether the run that has the parent's id now is not the parent. One that was deleted needs no other. */
async function isAnotherRun(store: Store, { run, incarnation }: Parent): Promise<boolean> {
  const row = await store.row(run)
  return row !== undefined && !isRowOfRun(row, incarnation)
}

/** Of everything that decides what the new run is, but for the run that it is made from. */
export function requestDigest(request: NewRunRequest, inputs: Inputs): string {
  const { from, only, retry, outputs, stale, effects, decisions } = request
  const given = [...(outputs ?? [])].map(([task, { raw }]) => [task, raw])
  return digest([
    from?.name ?? null,
    only ?? null,
    inputs,
    given,
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
