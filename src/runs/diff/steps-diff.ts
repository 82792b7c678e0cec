// Compares the model calls and tool calls of two runs, in their order, and finds the first step at which they differ.
import { defined } from '../../base/options.ts'
import { canonicalJson, type Json } from '../../journal/json.ts'
import type { AttemptState, RunState, ToolOutcome, TurnState } from '../../journal/state/state.ts'
import { jsonChanges, type JsonChange } from './json-changes.ts'
import type { MissingReason } from './prompt-diff.ts'

export interface StepsDiff {
  /**
   * Absent if the run has no steps of the task, which was inherited, edited or not started. Nothing is compared then.
   */
  readonly a?: StepCounts
  readonly b?: StepCounts
  /** The first steps that differ. A side is absent if it has no further step. */
  readonly parting?: { readonly a?: Step; readonly b?: Step }
  /** Equal tool calls before that point which returned different results. */
  readonly results: readonly ResultChange[]
}

export interface StepCounts {
  readonly modelCalls: number
  readonly toolCalls: number
  /** Failed tries of model calls. */
  readonly failedTries: number
}

export type Step =
  | { readonly kind: 'model'; readonly path: string }
  | {
      readonly kind: 'tool'
      readonly path: string
      readonly tool: string
      readonly input: Json
      /** `unknown`: the call was started, but no result was recorded. `none`: the call was not made. */
      readonly outcome: 'result' | 'error' | 'denied' | 'unreadable' | 'unknown' | 'none'
    }

export interface ResultChange {
  readonly tool: string
  readonly input: Json
  /** The path of the call in each run. */
  readonly a: string
  readonly b: string
  /** With paths such as `result.since` and `error`. */
  readonly changes: readonly JsonChange[]
}

/**
 * Compares the steps of two runs. Any two model calls are equal. Tool calls are equal if tool, input and kind of
 * outcome are. Different results are only listed in `results`: otherwise, every tool that reads a clock would make the
 * steps differ.
 */
export function diffSteps(
  runs: { readonly a: RunState; readonly b: RunState },
  makers: { readonly a: AttemptState | MissingReason; readonly b: AttemptState | MissingReason },
): StepsDiff {
  const [a, b] = [collectSteps(runs.a, makers.a), collectSteps(runs.b, makers.b)]
  const counts = defined({ a: a?.counts, b: b?.counts })
  if (!a || !b) return { ...counts, results: [] }
  const longest = Math.max(a.steps.length, b.steps.length)
  let common = 0
  while (common < longest && sameStep(a.steps[common]?.step, b.steps[common]?.step)) common++
  const results = a.steps
    .slice(0, common)
    .flatMap((before, index) => resultChange(before, b.steps[index] as StepRecord))
  if (common === longest) return { ...counts, results }
  const [stepA, stepB] = [a.steps[common]?.step, b.steps[common]?.step]
  return { ...counts, parting: defined({ a: stepA, b: stepB }), results }
}

interface StepRecord {
  readonly step: Step
  readonly outcome?: ToolOutcome | undefined
}

/** All steps of a conversation, including those of the attempts that it continues. */
function collectSteps(
  state: RunState,
  maker: AttemptState | MissingReason,
): { readonly steps: readonly StepRecord[]; readonly counts: StepCounts } | undefined {
  if (typeof maker === 'string') return undefined
  const turns = conversationTurns(state, maker)
  const steps = turns.flatMap(turnSteps)
  const modelCalls = turns.filter(isModelTurn).length
  const failedTries = turns.reduce((sum, turn) => sum + (turn.reply.tries?.length ?? 0), 0)
  return { steps, counts: { modelCalls, toolCalls: steps.length - modelCalls, failedTries } }
}

function conversationTurns(state: RunState, attempt: AttemptState): TurnState[] {
  const carried = attempt.carries && state.attempts.get(attempt.carries.path)
  // what an earlier step of a flow did is not part of this step
  return [...(carried?.task === attempt.task ? conversationTurns(state, carried) : []), ...attempt.turns]
}

/** The turn of a function task has no model call. */
function isModelTurn({ reply }: TurnState): boolean {
  return reply.finish !== 'code'
}

function turnSteps(turn: TurnState): StepRecord[] {
  return [
    ...(isModelTurn(turn) ? [{ step: { kind: 'model', path: turn.path } } as const] : []),
    ...turn.calls.map(({ path, request, input, outcome, times }): StepRecord => {
      const call = { path, tool: request.tool, input: input ?? request.input }
      return { step: { kind: 'tool', ...call, outcome: outcomeKind(outcome, times) }, outcome }
    }),
  ]
}

function outcomeKind(outcome: ToolOutcome | undefined, times: number): Extract<Step, { kind: 'tool' }>['outcome'] {
  if (!outcome) return times > 0 ? 'unknown' : 'none'
  if ('result' in outcome) return 'result'
  if ('error' in outcome) return 'error'
  return 'denied' in outcome ? 'denied' : 'unreadable'
}

function sameStep(a: Step | undefined, b: Step | undefined): boolean {
  if (a?.kind !== 'tool' || b?.kind !== 'tool') return a?.kind === b?.kind
  return a.tool === b.tool && a.outcome === b.outcome && canonicalJson(a.input) === canonicalJson(b.input)
}

function resultChange(
  { step: a, outcome: before }: StepRecord,
  { step: b, outcome: after }: StepRecord,
): ResultChange[] {
  if (a.kind === 'model' || !before || !after) return []
  const changes = Object.entries(after).flatMap(([kind, value]) =>
    jsonChanges((before as { readonly [kind: string]: Json })[kind] as Json, value, kind),
  )
  return changes.length > 0 ? [{ tool: a.tool, input: a.input, a: a.path, b: b.path, changes }] : []
}
