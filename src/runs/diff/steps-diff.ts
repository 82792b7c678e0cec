// What the attempts did: model calls and tool calls in their order, and the first one at which the two runs part.
import { canonicalJson, type Json } from '../../journal/json.ts'
import type { AttemptState, RunState, ToolOutcome, TurnState } from '../../journal/state/state.ts'
import { jsonChanges, type JsonChange } from './json-changes.ts'
import type { MissingReason } from './maker.ts'

export interface StepsDiff {
  /**
   * Left out where the run has no steps of the task: it was inherited, edited or not started. Then nothing is compared.
   */
  readonly a?: StepCounts
  readonly b?: StepCounts
  /** The first step that is not the same; a side that has no further step is left out. */
  readonly parting?: { readonly a?: Step; readonly b?: Step }
  /** Tool calls before that which were the same and gave something else. */
  readonly results: readonly ResultChange[]
}

export interface StepCounts {
  readonly modelCalls: number
  readonly toolCalls: number
  /** Tries of model calls that failed and were made again. */
  readonly failedTries: number
}

export type Step =
  | { readonly kind: 'model'; readonly path: string }
  | {
      readonly kind: 'tool'
      readonly path: string
      readonly tool: string
      /** What it was called with. */
      readonly input: Json
      readonly outcome: 'result' | 'error' | 'denied' | 'unreadable' | 'none'
    }

export interface ResultChange {
  readonly tool: string
  readonly input: Json
  /** The paths of the call. */
  readonly a: string
  readonly b: string
  /** `result.since`, `error` */
  readonly changes: readonly JsonChange[]
}

/**
 * A model call equals any other. A tool call equals one of the same tool with the same input and the same kind of
 * outcome; what it gave is in `results` and does not part the runs, or every clock that a tool reads would.
 */
export function diffSteps(
  runs: { readonly a: RunState; readonly b: RunState },
  makers: { readonly a: AttemptState | MissingReason; readonly b: AttemptState | MissingReason },
): StepsDiff {
  const [a, b] = [collectSteps(runs.a, makers.a), collectSteps(runs.b, makers.b)]
  const counts = { ...(a ? { a: a.counts } : {}), ...(b ? { b: b.counts } : {}) }
  if (!a || !b) return { ...counts, results: [] }
  const longest = Math.max(a.steps.length, b.steps.length)
  let common = 0
  while (common < longest && sameStep(a.steps[common]?.step, b.steps[common]?.step)) common++
  const results = a.steps
    .slice(0, common)
    .flatMap((before, index) => resultChange(before, b.steps[index] as StepRecord))
  if (common === longest) return { ...counts, results }
  const [stepA, stepB] = [a.steps[common]?.step, b.steps[common]?.step]
  return { ...counts, parting: { ...(stepA ? { a: stepA } : {}), ...(stepB ? { b: stepB } : {}) }, results }
}

interface StepRecord {
  readonly step: Step
  readonly outcome?: ToolOutcome | undefined
}

/** All of the conversation that led to the output, with the attempts that it carries on. */
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
  return [...(carried ? conversationTurns(state, carried) : []), ...attempt.turns]
}

/** The turn of a task that is a function asks no model. */
function isModelTurn({ reply }: TurnState): boolean {
  return reply.finish !== 'code'
}

function turnSteps(turn: TurnState): StepRecord[] {
  return [
    ...(isModelTurn(turn) ? [{ step: { kind: 'model', path: turn.path } } as const] : []),
    ...turn.calls.map(({ path, request, input, outcome }): StepRecord => {
      const made = { path, tool: request.tool, input: input ?? request.input }
      return { step: { kind: 'tool', ...made, outcome: outcomeKind(outcome) }, outcome }
    }),
  ]
}

function outcomeKind(outcome: ToolOutcome | undefined): Extract<Step, { kind: 'tool' }>['outcome'] {
  if (!outcome) return 'none'
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
