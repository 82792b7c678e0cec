// Completes the tool calls of one reply. They run concurrently, each journaled under its own path before and after its
// effect; their outcomes enter the conversation in the order of the reply. For `once` calls and approvals, once.ts
// decides, and this file carries the decision out: it asks the tool's `settle` or a person. Undecided calls stay open.
import { defined } from '../../base/options.ts'
import type { CallState, TurnState } from '../../journal/state/state.ts'
import type { Life, ActiveAttempt } from '../life.ts'
import { unlessAborted } from '../limits/time.ts'
import { drainInbox } from '../inbox/inbox.ts'
import { askOnQuestion } from '../inbox/ask-on-question.ts'
import { isDelegation } from '../task/delegate.ts'
import {
  toolCacheKey,
  oneAtATime,
  cachedOutcome,
  isCallableCall,
  pendingOccurrence,
  prepareCall,
  type CallableCall,
  type PendingCall,
  warnOfThrow,
  callIdempotencyKey,
} from './prepare-call.ts'
import { effectiveEffect, isCallOfTool } from './earlier-calls.ts'
import { recordOutcome, isStillRunning, makeCall, outcomeFromResult } from './make-call.ts'
import { callsOfLeftItems } from './left-items.ts'
import { decideApproval, decideOnce, type Decision } from './once.ts'

/** Thrown when a person's answer fails the task. */
export class FailedByAnswer extends Error {}

/** Completes every call of the turn. Returns false if some wait for an answer. */
export async function completeCalls(work: ActiveAttempt, turn: TurnState): Promise<boolean> {
  const { life } = work
  for (;;) {
    // loaded before the calls run concurrently, so that their entries are in the order of the reply
    await life.earlier.load()
    // prepared in every round: an answer may have changed an input
    const prepared = await Promise.all(
      turn.calls.map(async (call) => ({ ...work, call, ...(await prepareCall(work, call)) })),
    )
    const keys = new Map(prepared.map(({ call, key }) => [call.path, key]))
    const open = prepared.filter(({ call }) => !call.outcome).map((item): PendingCall => ({ ...item, keys }))
    const advanced = await Promise.allSettled(
      open.map((item) => (isCallableCall(item) && item.tool.cache ? advanceCachedCall(item) : advanceCall(item))),
    )
    for (const result of advanced) if (result.status === 'rejected') throw result.reason
    if (turn.calls.every((call) => call.outcome)) return true
    await drainInbox(life, { edits: false })
    // an answer may have arrived while another call was running
    if (!turn.calls.some((call) => hasAnswer(life, call))) return false
  }
}

function hasAnswer({ state }: Life, call: CallState): boolean {
  const asked = state.questions.get(call.questions.at(-1) ?? '')
  return !call.outcome && asked?.answer !== undefined && !asked.used
}

/** Takes the recorded result of an equal call of a tool with `cache`, or makes the call. */
function advanceCachedCall(item: CallableCall): Promise<void> {
  const cacheKey = toolCacheKey(item.tool, item.key)
  return oneAtATime(item, cacheKey, () => {
    const recorded = cachedOutcome(item.life.state, item.call, cacheKey)
    return recorded ? recordOutcome(item, recorded, { source: 'cached' }) : advanceCall(item)
  })
}

/** Advances a call to its outcome, or to an open question. */
async function advanceCall(item: PendingCall): Promise<void> {
  const { life, call, task } = item
  const callable = isCallableCall(item) ? item : undefined
  if (callable && life.state.effects === 'never' && (await changesOrNeedsApproval(callable)))
    return withholdCall(callable)
  if (callable && isDelegation(task, callable.tool.name)) return delegateCall(callable)
  const decision = await decideCall(item, callable)
  switch (decision.type) {
    case 'call': {
      const { input, allowedBy } = decision
      if ((await makeCall(item, defined({ input, allowedBy }))) === 'ended') return
      // in doubt, or a person's input doesn't fit; prepared again, because the input may have changed
      return advanceCall({ ...item, ...(await prepareCall(item, call)) })
    }
    case 'return': {
      const { outcome, source, by } = decision
      return recordOutcome(item, outcome, defined({ source, by }))
    }
    case 'fail':
      throw new FailedByAnswer(decision.reason)
    case 'settled':
    case 'wait':
      return
  }
}

/** Decides by the rules of once.ts, and asks `settle` or a person if they require it. */
async function decideCall(item: PendingCall, callable: CallableCall | undefined): Promise<CallDecision> {
  const { life, call, attempt, key, input, task } = item
  // a call that may have happened stays in doubt even if the tool is gone or now refuses the input
  const once = callable ? effectiveEffect(callable) === 'once' : call.effect === 'once' && call.calledAt !== undefined
  const approval = callable !== undefined && (await needsApproval(callable))
  if (!once && !approval && call.questions.length === 0) return { type: 'call' }
  const isTool = (name: string): boolean => name === call.request.tool || isCallOfTool(task, callable?.tool, name)
  const unclaimed = once ? [...life.earlier.unclaimed(), ...callsOfLeftItems(life.state, task, key)] : []
  const occurrence = pendingOccurrence(item)
  const asked = { task: task.name, isTool, key, occurrence, input, unclaimed, needsApproval: approval }
  const decide = (settles: boolean): Decision =>
    once
      ? decideOnce(life.state, attempt, call, { ...asked, settles })
      : decideApproval(life.state, call, { ...asked, settles: false })
  let decision = decide(callable?.tool.settles ?? false)
  if (decision.type === 'settle') {
    // a call that still runs in this process may yet happen, so `settle` cannot know
    const settled = callable && !isStillRunning(life, decision.path) ? await settleByTool(callable) : 'cannot tell'
    if (settled === 'done') return { type: 'settled' }
    if (settled === 'not happened') return { type: 'call', allowedBy: 'settle' }
    decision = { type: 'ask', question: decision.question }
  }
  if (decision.type === 'ask') {
    const question = { ...decision.question, id: life.questionId() }
    await life.append([{ type: 'question.asked', path: question.path, question }])
    decision = { type: 'wait' }
  }
  if (decision.type === 'wait') {
    const open = life.state.questions.get(call.questions.at(-1) ?? '')
    if (open) await askOnQuestion(life, open.question, item.signal)
    decision = decide(false)
  }
  return decision.type === 'settle' || decision.type === 'ask' ? { type: 'wait' } : decision
}

/** A decision that needs no further question. `settled`: the tool's `settle` knew the outcome, which is recorded. */
type CallDecision = Exclude<Decision, { type: 'settle' | 'ask' }> | { readonly type: 'settled' }

/** Whether a run with `effects: 'never'` withholds the call. */
async function changesOrNeedsApproval(item: CallableCall): Promise<boolean> {
  return item.tool.effect !== 'read' || needsApproval(item)
}

/** Whether a person must approve the call. A call that was already started has been approved. */
async function needsApproval({ tool, call, parsed }: CallableCall): Promise<boolean> {
  return call.calledAt === undefined && (await tool.approval(parsed as never))
}

/** Asks the tool's `settle` whether the call happened, and records the outcome if it did. */
async function settleByTool(item: CallableCall): Promise<'done' | 'not happened' | 'cannot tell'> {
  await item.life.ready()
  const settling = Promise.try(() => item.tool.settle(callIdempotencyKey(item), item.parsed as never))
  const settlement = await unlessAborted(
    settling.catch((error: unknown) => {
      warnOfThrow(
        item.life,
        error,
        `settle of tool ${item.tool.name} at ${item.call.path}`,
        'a person is asked instead',
      )
      return undefined
    }),
    item.signal,
  )
  if (settlement?.happened === false) return 'not happened'
  if (settlement?.happened !== true) return 'cannot tell'
  await recordOutcome(item, outcomeFromResult(settlement.result, item.tool.name), { source: 'settled' })
  return 'done'
}

/** Has a coworker answer the call. The call stays without an outcome while the coworker waits for a person. */
async function delegateCall(item: CallableCall): Promise<void> {
  const { life, call, tool, key, parsed } = item
  if (call.calledAt === undefined) {
    const called = { tool: tool.name, effect: tool.effect, key, idempotencyKey: callIdempotencyKey(item) }
    life.note([{ type: 'tool.called', path: call.path, ...called }])
  }
  const result = await item.delegate?.(item, call.path, tool.name, parsed)
  if (result !== undefined) await recordOutcome(item, { result }, { isLazy: true })
}

/** Records the result of an equal earlier call instead of calling the tool; without one, an error for the model. */
async function withholdCall(item: CallableCall): Promise<void> {
  const { life, task, tool, key } = item
  const occurrence = pendingOccurrence(item)
  const recorded = life.state.inheritedCalls.findLast(
    (call) =>
      call.task === task.name &&
      isCallOfTool(task, tool, call.tool) &&
      call.key === key &&
      call.occurrence === occurrence,
  )?.outcome
  if (typeof recorded === 'object' && 'result' in recorded) return recordOutcome(item, recorded, { source: 'recorded' })
  const words = `${tool.name} was not called: this is a trial, which must change nothing; continue as well as you can`
  return recordOutcome(item, { error: words }, { source: 'withheld' })
}
