// Whether a run that is there already is the one that a call means: one with the same inputs, or made in the same way.
import type { Inputs } from '../../engine/definition.ts'
import { RepriseError } from '../../errors.ts'
import { withFileWords } from '../../journal/files.ts'
import { digest } from '../../journal/hash.ts'
import { canonicalJson, type Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { NewRunRequest } from '../verbs/plan-new-run.ts'
import { settled, type GivenInputs } from './given-inputs.ts'
import { own } from '../../options.ts'

/** INPUTS_DIFFER. */
export function checkSameInputs(state: RunState, given: GivenInputs): void {
  const before = state.given ?? state.inputs
  const inputs = settled(given, before, true)
  if (digest(inputs) === digest(before)) return
  const names = [...new Set([...Object.keys(before), ...Object.keys(inputs)])]
  const words = differences(before, inputs, names)
  throw new RepriseError('INPUTS_DIFFER', `run ${state.run} was started with other inputs: ${words}`, {
    runId: state.run,
    next: { act: 'fork', runId: state.run },
  })
}

/** A run that is to be made under an id that is taken must be the one that was made by the same call. */
export function checkSameOrigin(state: RunState, request: NewRunRequest): void {
  const { parent } = state
  const { run, from } = request
  const before = state.given ?? state.inputs
  const inputs = settled(request.given, before, true)
  const names = Object.keys(inputs).filter((name) => shown(own(inputs, name)) !== shown(own(before, name)))
  const other =
    !parent || (run !== undefined && run !== parent.run)
      ? `from ${parent ? `run ${parent.run}` : 'no other run'}`
      : parent.from !== from?.name
        ? `from ${parent.from === undefined ? 'no task' : `task ${parent.from}`} on`
        : names.length > 0
          ? `with other inputs: ${differences(before, inputs, names)}`
          : parent.request !== requestDigest(request, inputs)
            ? 'with other inputs, outputs or policies'
            : undefined
  if (other === undefined) return
  throw new RepriseError('INPUTS_DIFFER', `run ${state.run} was made ${other}; use another id`, { runId: state.run })
}

/** Of everything that decides what the new run is, but for the run that it is made from. */
export function requestDigest(request: NewRunRequest, inputs: Inputs): string {
  const { from, only, outputs, stale, effects, decisions } = request
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
  ])
}

function differences(before: Inputs, now: Inputs, names: readonly string[]): string {
  return names
    .filter((name) => shown(own(now, name)) !== shown(own(before, name)))
    .map((name) => `${name} was ${shorten(shown(own(before, name)))} and is ${shorten(shown(own(now, name)))}`)
    .join('; ')
}

function shown(value: Json | undefined): string {
  return value === undefined ? 'not given' : canonicalJson(withFileWords(value))
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
