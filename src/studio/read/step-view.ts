// One step of a run: what a model was sent in one turn and what it replied, or a call with what came of it. The journal
// is folded only up to the turn, so that the messages are those which the model saw then, summaries and all.
import { costOfCalls } from '../../engine/plan/estimate.ts'
import { readEntries } from '../../engine/read/read-run.ts'
import { conversation } from '../../engine/talk/conversation.ts'
import { defined } from '../../defined.ts'
import type { Entry, EntryOf } from '../../journal/entries.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { attemptsIn, parentPath, taskOf } from '../../journal/paths.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { ModelStep, StepView, ToolStep } from '../api/contract.ts'
import { notFound } from '../api/problem.ts'
import type { Place } from '../place.ts'

/** NOT_FOUND when the run has no such step. */
export async function stepView(place: Place, runId: string, path: string): Promise<StepView> {
  const isCall = parentPath(path) !== (attemptsIn(path).at(-1) ?? '')
  const found = isCall ? await toolStep(place, runId, path) : await modelStep(place, runId, path)
  if (!found) throw notFound(`run ${runId} has no step ${path}`)
  return found
}

async function modelStep(place: Place, runId: string, path: string): Promise<ModelStep | undefined> {
  const state = emptyState(runId)
  for await (const { entry } of readEntries(place.store, runId)) {
    if (entry.path === path && entry.type === 'model.replied') return replied(place, state, entry, path)
    applyEntry(state, entry)
  }
  return undefined
}

/** `state` is the one before the reply. */
async function replied(
  { crews }: Place,
  state: RunState,
  entry: EntryOf<'model.replied'>,
  path: string,
): Promise<ModelStep | undefined> {
  const attempt = state.attempts.get(parentPath(path))
  if (!attempt) return undefined
  const { instructions, tools, model, settings, output } = attempt.request
  const { seq, startedAt, at, parts, finish, usage, tries = [], last } = entry
  const prices = crews.get(state.crew)?.definition.prices
  return {
    kind: 'model',
    path,
    seq,
    task: taskOf(path),
    agent: attempt.agent,
    startedAt,
    endedAt: at,
    request: {
      model,
      instructions,
      messages: conversation(state, attempt),
      tools: last ? [] : tools,
      settings,
      ...defined({ output }),
    },
    reply: { parts, finish, ...defined({ model: entry.model }) },
    usage,
    cost: await costOfCalls([{ model, usage, own: true, at: startedAt }], prices),
    tries,
  }
}

async function toolStep({ store }: Place, runId: string, path: string): Promise<ToolStep | undefined> {
  const state = emptyState(runId)
  const own: Entry[] = []
  for await (const { entry } of readEntries(store, runId)) {
    applyEntry(state, entry)
    if (entry.path === path) own.push(entry)
  }
  const turn = state.attempts.get(attemptsIn(path).at(-1) ?? '')?.turns.find((one) => one.path === parentPath(path))
  const call = turn?.calls.find((one) => one.path === path)
  if (!call) return undefined
  const { request, effect, outcome, source, abandoned, idempotencyKey, times, stack } = call
  const returned = own.findLast((entry) => entry.type === 'tool.returned')
  return {
    kind: 'tool',
    path,
    seq: (own[0] ?? turn?.reply)?.seq ?? 0,
    task: taskOf(path),
    tool: request.tool,
    effect,
    asked: request.input,
    input: call.input ?? request.input,
    startedAt: call.calledAt,
    endedAt: returned?.at,
    outcome,
    source,
    abandoned,
    idempotencyKey,
    times,
    stack,
    questions: [...state.questions.values()]
      .filter(({ question }) => question.path === path)
      .map(({ question, askedAt, answer }) => ({ question, askedAt, ...defined({ answer }) })),
  }
}
