// A step of a run: a model call with its request and its reply or error, or a tool call with its result. For a model
// call, the journal is folded only up to the step, so that the messages are what the model saw, summaries included.
import { costOfCalls } from '../../read/costs.ts'
import { readEntries } from '../../read/read-run.ts'
import { conversation } from '../../read/conversation.ts'
import { defined } from '../../base/options.ts'
import type { ChatMessage, Entry, EntryOf, FailedTry } from '../../journal/entries.ts'
import { returnedCall, startedCall } from '../../journal/call-entries.ts'
import { applyEntry, emptyState } from '../../journal/state/fold.ts'
import { attemptsOnPath, parentPath, taskInPath } from '../../journal/paths.ts'
import { addUsage, noUsage, type AttemptState } from '../../journal/state/state.ts'
import type { ModelStep, StepView, ToolStep } from '../api/contract.ts'
import { notFound } from '../api/problem.ts'
import { runPrices, type StudioContext } from '../context.ts'

type ModelEntry = EntryOf<'model.replied' | 'model.failed'>

/** Rejects with NOT_FOUND if the run has no such step. */
export async function stepView(context: StudioContext, runId: string, path: string): Promise<StepView> {
  const isCall = parentPath(path) !== (attemptsOnPath(path).at(-1) ?? '')
  const found = isCall ? await toolStep(context, runId, path) : await modelStep(context, runId, path)
  if (!found) throw notFound(`run ${runId} has no step ${path}`)
  return found
}

/** A model call that failed and was repeated after a resume is one step, with the tries of all calls. */
async function modelStep(context: StudioContext, runId: string, path: string): Promise<ModelStep | undefined> {
  const state = emptyState(runId)
  const tries: FailedTry[] = []
  let last: { readonly entry: ModelEntry; readonly attempt: AttemptState; readonly messages: ChatMessage[] } | undefined
  for await (const { entry } of readEntries(context.store, runId)) {
    if (entry.path === path && (entry.type === 'model.replied' || entry.type === 'model.failed')) {
      const attempt = state.attempts.get(parentPath(path))
      if (!attempt) return undefined
      tries.push(...(entry.tries ?? []))
      last = { entry, attempt, messages: conversation(state, attempt) }
      if (entry.type === 'model.replied') break
    }
    applyEntry(state, entry)
  }
  if (!last) return undefined
  const { entry, attempt, messages } = last
  const { instructions, tools, model, settings, output } = attempt.request
  const { seq, startedAt, at } = entry
  const replied = entry.type === 'model.replied' ? entry : undefined
  const calls = [...tries, ...(replied ? [replied] : [])].flatMap((each) =>
    each.usage ? [{ ...each, usage: each.usage }] : [],
  )
  return {
    type: 'model',
    path,
    seq,
    task: attempt.task,
    agent: attempt.agent,
    startedAt,
    endedAt: at,
    request: { model, instructions, messages, tools: replied?.last ? [] : tools, settings, ...defined({ output }) },
    ...(replied && { reply: { parts: replied.parts, finish: replied.finish, ...defined({ model: replied.model }) } }),
    ...(entry.type === 'model.failed' && { error: entry.error }),
    usage: calls.map(({ usage }) => usage).reduce(addUsage, noUsage),
    cost: await costOfCalls(
      calls.map((each) => ({ model, usage: each.usage, own: true, at: each.at })),
      await runPrices(context, runId, state.crew),
    ),
    tries,
  }
}

async function toolStep({ store }: StudioContext, runId: string, path: string): Promise<ToolStep | undefined> {
  const state = emptyState(runId)
  let first: Entry | undefined
  let returned: Entry | undefined
  for await (const { entry } of readEntries(store, runId)) {
    applyEntry(state, entry)
    if (entry.path === path || startedCall(entry)?.path === path) first ??= entry
    if (returnedCall(entry)?.path === path) returned = entry
  }
  const turn = state.attempts.get(attemptsOnPath(path).at(-1) ?? '')?.turns.find((one) => one.path === parentPath(path))
  const call = turn?.calls.find((one) => one.path === path)
  if (!call) return undefined
  const { request, effect, outcome, source, abandoned, idempotencyKey, times, stack } = call
  return {
    type: 'tool',
    path,
    seq: (first ?? turn?.reply)?.seq ?? 0,
    task: taskInPath(path),
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
