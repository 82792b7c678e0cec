// The tool calls of one reply. All of them run at once; each is journaled under its own path before and after its
// effect, and its outcome enters the conversation in the order in which the model asked. Undecided calls wait for a
// person.
import { defined } from '../../base/defined.ts'
import type { CallState, TurnState } from '../../journal/state/state.ts'
import type { Life, ActiveAttempt } from '../life.ts'
import { unlessAborted } from '../limits/deadline.ts'
import { drainInbox } from '../inbox/inbox.ts'
import { askOnQuestion } from '../inbox/ask-on-question.ts'
import { isDelegation } from '../task/delegation-tools.ts'
import { toolCacheKey, oneAtATime, cachedOutcome } from './cache.ts'
import { effectiveEffect, isCallOfTool } from './earlier-calls.ts'
import { callIdempotencyKey } from './idempotency-key.ts'
import { recordOutcome, isStillRunning, makeCall, outcomeFromResult } from './make-call.ts'
import { warnOfThrow } from './mistakes.ts'
import { decideApproval, decideOnce, type Decision } from './once.ts'
import { isCallableCall, pendingOccurrence, prepareCall, type CallableCall, type PendingCall } from './prepare-call.ts'

/** Thrown when a person's answer fails the task. */
export class FailedByAnswer extends Error {}

/** Gives every call of the turn its outcome; false when some wait for an answer that has not come yet. */
export async function completeCalls(work: ActiveAttempt, turn: TurnState): Promise<boolean> {
  const { life } = work
  for (;;) {
    // before the calls part ways: their entries are to be in the order in which the model made the calls
    await life.earlier.load()
    // each time again: a person may have changed an input since
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
    // an answer may also have come while another call was still running
    if (!turn.calls.some((call) => hasAnswer(life, call))) return false
  }
}

function hasAnswer({ state }: Life, call: CallState): boolean {
  const asked = state.questions.get(call.questions.at(-1) ?? '')
  return !call.outcome && asked?.answer !== undefined && !asked.used
}

/** An equal call may have been made before, of a tool whose results are kept. */
function advanceCachedCall(item: CallableCall): Promise<void> {
  const cacheKey = toolCacheKey(item.tool, item.key)
  return oneAtATime(item, cacheKey, () => {
    const recorded = cachedOutcome(item.life.state, item.call, cacheKey)
    return recorded ? recordOutcome(item, recorded, { source: 'cached' }) : advanceCall(item)
  })
}

/** Takes one call as far as possible now: to its outcome, or to an open question. */
async function advanceCall(item: PendingCall): Promise<void> {
  const { life, call, task } = item
  const callable = isCallableCall(item) ? item : undefined
  if (callable && life.state.effects === 'never' && (await changesOrNeedsApproval(callable)))
    return withholdCall(callable)
  if (callable && isDelegation(task, callable.tool.name)) return delegateCall(callable)
  const decision = await decideCall(item, callable)
  switch (decision.act) {
    case 'call': {
      const { input, allowedBy } = decision
      if ((await makeCall(item, defined({ input, allowedBy }))) === 'ended') return
      // in doubt, or the person's input does not fit. Prepared again, since a person may have changed the input
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

/** The rules decide; what they leave to the tool's own `settle` or to a person is asked here. */
async function decideCall(item: PendingCall, callable: CallableCall | undefined): Promise<CallDecision> {
  const { life, call, attempt, key, input, task } = item
  // a call that may have happened stays in doubt, even when today's code has no such tool or refuses its input
  const once = callable ? effectiveEffect(callable) === 'once' : call.effect === 'once' && call.calledAt !== undefined
  const approval = callable !== undefined && (await needsApproval(callable))
  if (!once && !approval && call.questions.length === 0) return { act: 'call' }
  const isTool = (name: string): boolean => name === call.request.tool || isCallOfTool(task, callable?.tool, name)
  const unclaimed = once ? life.earlier.unclaimed() : []
  const asked = { task: task.name, isTool, key, occurrence: pendingOccurrence(item), input, unclaimed, approval }
  const byRules = (settles: boolean): Decision =>
    once
      ? decideOnce(life.state, attempt, call, { ...asked, settles })
      : decideApproval(life.state, call, { ...asked, settles: false })
  let decision = byRules(callable?.tool.settles ?? false)
  if (decision.act === 'settle') {
    // a call that still runs here may yet happen: only a person can say what to do about it
    const settled = callable && !isStillRunning(life, decision.of) ? await settleByTool(callable) : 'cannot tell'
    if (settled === 'done') return { act: 'settled' }
    if (settled === 'not happened') return { act: 'call', allowedBy: 'settle' }
    decision = { act: 'ask', question: decision.question }
  }
  if (decision.act === 'ask') {
    const question = { ...decision.question, id: life.questionId() }
    await life.append([{ type: 'question.asked', path: question.path, question }])
    decision = { act: 'wait' }
  }
  if (decision.act === 'wait') {
    const open = life.state.questions.get(call.questions.at(-1) ?? '')
    if (open) await askOnQuestion(life, open.question, item.signal)
    decision = byRules(false)
  }
  return decision.act === 'settle' || decision.act === 'ask' ? { act: 'wait' } : decision
}

/** What to do once nobody needs to be asked any more; `settled`: the tool itself knew how it ended. */
type CallDecision = Exclude<Decision, { act: 'settle' | 'ask' }> | { readonly act: 'settled' }

/** What a run that changes nothing outside does without: nobody is there to approve a call of it. */
async function changesOrNeedsApproval(item: CallableCall): Promise<boolean> {
  return item.tool.effect !== 'read' || needsApproval(item)
}

/** A call that is repeated after a crash was approved before. */
async function needsApproval({ tool, call, parsed }: CallableCall): Promise<boolean> {
  return call.calledAt === undefined && (await tool.approval(parsed as never))
}

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

/** The work of another agent within this call; without an outcome while a question is open there. */
async function delegateCall(item: CallableCall): Promise<void> {
  const { life, call, tool, key, parsed } = item
  if (call.calledAt === undefined) {
    const called = { tool: tool.name, effect: tool.effect, key, idempotencyKey: callIdempotencyKey(item) }
    life.note([{ type: 'tool.called', path: call.path, ...called }])
  }
  const result = await item.delegate?.(item, call.path, tool.name, parsed)
  if (result !== undefined) await recordOutcome(item, { result }, { isLazy: true })
}

/** In a run that must change nothing outside: the recorded result of an equal call, or a refusal. */
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
  const words = `${tool.name} was not called: this is a trial, in which nothing is changed; continue as well as you can`
  return recordOutcome(item, { error: words }, { source: 'withheld' })
}
