// The tool calls of one reply. All of them run at once; each is journaled under its own path before and after its
// effect, and its outcome enters the conversation in the order in which the model asked. Undecided calls wait for a
// person.
import { defined } from '../../base/defined.ts'
import type { CallState, TurnState } from '../../journal/state/state.ts'
import type { Life, Work } from '../life.ts'
import { unlessAborted } from '../limits/deadline.ts'
import { drainInbox } from '../people/inbox.ts'
import { putToCaller } from '../people/put-to-caller.ts'
import { isDelegation } from '../task/delegation-tools.ts'
import { cacheKeyOf, inTurn, recordedFor } from './cache.ts'
import { effectOf, isCallOf } from './earlier-calls.ts'
import { idempotencyKeyOf } from './idempotency-key.ts'
import { give, lingers, makeCall, toOutcome } from './make-call.ts'
import { warnOfThrow } from './mistakes.ts'
import { decideApproval, decideOnce, type Decision } from './once.ts'
import { isCallable, occurrenceIn, prepareCall, type Callable, type Item } from './prepare-call.ts'

/** Thrown when a person's answer fails the task. */
export class AnsweredFail extends Error {}

/** Gives every call of the turn its outcome; false when some wait for an answer that has not come yet. */
export async function settleCalls(work: Work, turn: TurnState): Promise<boolean> {
  const { life } = work
  for (;;) {
    // each time again: a person may have changed an input since
    const prepared = await Promise.all(
      turn.calls.map(async (call) => ({ ...work, call, ...(await prepareCall(work, call)) })),
    )
    const keys = new Map(prepared.map(({ call, key }) => [call.path, key]))
    const open = prepared.filter(({ call }) => !call.outcome).map((item): Item => ({ ...item, keys }))
    const advanced = await Promise.allSettled(
      open.map((item) => (isCallable(item) && item.tool.cache ? throughCache(item) : advance(item))),
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
function throughCache(item: Callable): Promise<void> {
  const cacheKey = cacheKeyOf(item.tool, item.key)
  return inTurn(item, cacheKey, () => {
    const recorded = recordedFor(item.life.state, item.call, cacheKey)
    return recorded ? give(item, recorded, { source: 'cached' }) : advance(item)
  })
}

/** Takes one call as far as possible now: to its outcome, or to an open question. */
async function advance(item: Item): Promise<void> {
  const { life, call, task } = item
  const callable = isCallable(item) ? item : undefined
  if (callable && life.state.effects === 'never' && (await changesOrAsks(callable))) return withhold(callable)
  if (callable && isDelegation(task, callable.tool.name)) return handOn(callable)
  const decision = await decide(item, callable)
  switch (decision.act) {
    case 'call': {
      const { input, allowedBy } = decision
      if ((await makeCall(item, defined({ input, allowedBy }))) === 'ended') return
      // in doubt, or the person's input does not fit. Prepared again, since a person may have changed the input
      return advance({ ...item, ...(await prepareCall(item, call)) })
    }
    case 'return': {
      const { outcome, source, by } = decision
      return give(item, outcome, defined({ source, by }))
    }
    case 'fail':
      throw new AnsweredFail(decision.reason)
    case 'settled':
    case 'wait':
      return
  }
}

/** The rules decide; what they leave to the tool's own `settle` or to a person is asked here. */
async function decide(item: Item, callable: Callable | undefined): Promise<Settled> {
  const { life, call, attempt, key, input, task } = item
  // a call that may have happened stays in doubt, even when today's code has no such tool or refuses its input
  const once = callable ? (await effectOf(callable)) === 'once' : call.effect === 'once' && call.calledAt !== undefined
  const approval = callable !== undefined && (await needsApproval(callable))
  if (!once && !approval && call.questions.length === 0) return { act: 'call' }
  const isTool = (name: string): boolean => name === call.request.tool || isCallOf(task, callable?.tool, name)
  const strays = once ? await life.earlier.strays() : []
  const asked = { task: task.name, isTool, key, occurrence: occurrenceIn(item), input, strays, approval }
  const byRules = (settles: boolean): Decision =>
    once
      ? decideOnce(life.state, attempt, call, { ...asked, settles })
      : decideApproval(life.state, call, { ...asked, settles: false })
  let decision = byRules(callable?.tool.settles ?? false)
  if (decision.act === 'settle') {
    // a call that still runs here may yet happen: only a person can say what to do about it
    const settled = callable && !lingers(life, decision.of) ? await settle(callable) : 'cannot tell'
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
    if (open) await putToCaller(life, open.question, item.signal)
    decision = byRules(false)
  }
  return decision.act === 'settle' || decision.act === 'ask' ? { act: 'wait' } : decision
}

/** What to do once nobody needs to be asked any more; `settled`: the tool itself knew how it ended. */
type Settled = Exclude<Decision, { act: 'settle' | 'ask' }> | { readonly act: 'settled' }

/** What a run that changes nothing outside does without: nobody is there to approve a call of it. */
async function changesOrAsks(item: Callable): Promise<boolean> {
  return item.tool.effect !== 'read' || needsApproval(item)
}

/** A call that is repeated after a crash was approved before. */
async function needsApproval({ tool, call, parsed }: Callable): Promise<boolean> {
  return call.calledAt === undefined && (await tool.approval(parsed as never))
}

async function settle(item: Callable): Promise<'done' | 'not happened' | 'cannot tell'> {
  await item.life.ready()
  const settling = Promise.try(() => item.tool.settle(idempotencyKeyOf(item), item.parsed as never))
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
  await give(item, toOutcome(settlement.result, item.tool.name), { source: 'settled' })
  return 'done'
}

/** The work of another agent within this call; without an outcome while a question is open there. */
async function handOn(item: Callable): Promise<void> {
  const { life, call, tool, key, parsed } = item
  if (call.calledAt === undefined) {
    const called = { tool: tool.name, effect: tool.effect, key, idempotencyKey: idempotencyKeyOf(item) }
    life.note([{ type: 'tool.called', path: call.path, ...called }])
  }
  const result = await item.delegate?.(item, call.path, tool.name, parsed)
  if (result !== undefined) await give(item, { result }, { isLazy: true })
}

/** In a run that must change nothing outside: the recorded result of an equal call, or a refusal. */
async function withhold(item: Callable): Promise<void> {
  const { life, task, tool, key } = item
  const occurrence = occurrenceIn(item)
  const recorded = life.state.inheritedCalls.findLast(
    (call) =>
      call.task === task.name && isCallOf(task, tool, call.tool) && call.key === key && call.occurrence === occurrence,
  )?.outcome
  if (typeof recorded === 'object' && 'result' in recorded) return give(item, recorded, { source: 'recorded' })
  const words = `${tool.name} was not called: this is a trial, in which nothing is changed; continue as well as you can`
  return give(item, { error: words }, { source: 'withheld' })
}
