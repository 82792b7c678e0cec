// Entries about the steps of attempts (model calls, tool calls, judgements and summaries), and about questions,
// messages, callbacks and output files.
import type { EntryOf, Limit } from '../entries.ts'
import { anything, flag, json, list, one, optional, text, yes, amount } from '../check/shapes.ts'
import {
  by,
  effect,
  failedTries,
  failure,
  outcome,
  part,
  texts,
  thrown,
  usage,
  answer,
  question,
} from '../check/value-shapes.ts'
import { callPath, parentPath } from '../paths.ts'
import { addOrphanCall, addUncounted, assumeOnce, attemptAt, callAt, startCall, taskAt } from '../state/at-path.ts'
import { addQuestion } from '../state/questions.ts'
import { addEvent } from '../state/steps.ts'
import { addSpending } from '../state/tally.ts'
import { replyText, type AttemptState, type RunState, markWoken } from '../state/state.ts'
import { shorten, type EntryRows, type SpentCall } from './entry-row.ts'

export const stepRows: EntryRows<'model' | 'tool' | 'guardrail' | 'context'> = {
  'model.replied': {
    fields: {
      path: text,
      startedAt: text,
      tries: optional(failedTries),
      parts: list(part),
      usage,
      finish: text,
      model: optional(text),
      last: optional(yes),
      paused: optional(yes),
    },
    listed: false,
    progress: true,
    step: true,
    spent: (entry) => [{ at: entry.at, usage: entry.usage }, ...paidTries(entry)],
    log: (entry) => {
      const { path, parts, usage: tokens } = entry
      const calls = parts.flatMap((each) => (each.type === 'call' ? [each.tool] : []))
      const providerCalls = parts.flatMap((each) => (each.type === 'provider-call' ? [each.tool] : []))
      const used = providerCalls.length > 0 ? `used ${providerCalls.join(', ')}; ` : ''
      const what = calls.length > 0 ? `calls ${calls.join(', ')}` : shorten(replyText(entry))
      return `model ${path} ${used}${what} (${tokens.input} in, ${tokens.output} out)`
    },
    apply(state, entry) {
      const path = entry.path as string
      state.lastStep = entry.seq
      const calls = entry.parts.filter((each) => each.type === 'call')
      const attempt = attemptAt(state, entry)
      addSpending(state, entry.at, attempt.request.model, entry.usage)
      addFailedTries(state, attempt, entry)
      attempt.turns.push({
        path,
        reply: entry,
        calls: calls.map((request, index) => ({ path: callPath(path, index), request, times: 0, questions: [] })),
      })
    },
  },
  'model.failed': {
    fields: { path: text, startedAt: text, tries: failedTries, error: failure },
    listed: false,
    progress: false,
    spent: (entry) => paidTries(entry),
    log: ({ path, error }) => `model ${path} failed: ${error.message}`,
    apply(state, entry) {
      const attempt = state.attempts.get(parentPath(entry.path as string))
      if (attempt) addFailedTries(state, attempt, entry)
    },
  },
  'tool.called': {
    fields: {
      path: text,
      tool: text,
      effect,
      key: text,
      idempotencyKey: text,
      input: anything,
      allowedBy: optional(text),
      cacheKey: optional(text),
    },
    listed: false,
    progress: false,
    log: ({ path, tool }) => `tool ${path} ${tool} called`,
    apply(state, entry) {
      const call = callAt(state, entry.path) ?? addOrphanCall(state, entry)
      startCall(call, entry, { at: entry.at, owner: state.owner })
      if (entry.input !== undefined) call.input = entry.input
      const allowed = state.questions.get(entry.allowedBy ?? '')
      if (allowed) allowed.used = true
      if (entry.allowedBy === undefined) delete call.allowedBy
      else call.allowedBy = entry.allowedBy
      if (entry.cacheKey !== undefined) call.cacheKey = entry.cacheKey
      delete call.abandoned
    },
  },
  'tool.returned': {
    fields: {
      path: text,
      outcome,
      source: optional(text),
      key: optional(text),
      by,
      stack: optional(text),
      thrown: optional(thrown),
      uncounted: optional(texts),
    },
    listed: false,
    progress: true,
    step: true,
    log: ({ path, outcome: ended, source }) => {
      const how = 'result' in ended ? 'returned' : shorten(JSON.stringify(ended))
      return `tool ${path} ${how}${source === undefined ? '' : ` (${source})`}`
    },
    apply(state, entry) {
      state.lastStep = entry.seq
      const call = callAt(state, entry.path)
      if (!call) return
      call.outcome = entry.outcome
      addUncounted(state.attempts.get(parentPath(parentPath(call.path))), entry)
      const happened = 'result' in entry.outcome || 'unreadable' in entry.outcome
      if (happened && entry.source === undefined) assumeOnce(call, { at: entry.at, owner: state.owner })
      if (entry.source) call.source = entry.source
      if (entry.stack !== undefined) call.stack = entry.stack
      if (entry.thrown !== undefined) call.thrown = entry.thrown
      if (entry.key !== undefined) call.key = entry.key
      if (call.cacheKey !== undefined && entry.source === undefined && 'result' in entry.outcome)
        state.cached.set(call.cacheKey, { path: call.path, outcome: entry.outcome })
    },
  },
  'tool.abandoned': {
    fields: { path: text, reason: text, begun: optional(flag) },
    listed: false,
    progress: false,
    log: ({ path, reason }) => `tool ${path} abandoned: ${reason}`,
    apply(state, entry) {
      const call = callAt(state, entry.path)
      if (!call) return
      if (entry.begun === false) {
        delete call.calledAt
        delete call.effect
        call.times -= 1
        // the answer still allows one call
        const allowed = state.questions.get(call.allowedBy ?? '')
        if (allowed) allowed.used = false
      } else {
        call.abandoned = entry.reason
      }
    },
  },
  'guardrail.judged': {
    fields: {
      path: text,
      guardrail: text,
      verdict: one('accepted', 'refused'),
      reason: optional(text),
      raw: optional(text),
      uncounted: optional(texts),
    },
    listed: false,
    progress: true,
    log: ({ path, verdict, reason }) => `answer ${path} ${verdict}${reason === undefined ? '' : `: ${reason}`}`,
    apply(state, entry) {
      const attempt = state.attempts.get(entry.path as string)
      if (!attempt) return
      addUncounted(attempt, entry)
      if (entry.verdict === 'accepted') {
        attempt.accepted.push(entry.raw === undefined ? {} : { raw: entry.raw })
        return
      }
      attempt.status = 'refused'
      attempt.refusal = entry.reason ?? ''
      attempt.refusedBy = entry.guardrail
    },
  },
  'context.summarised': {
    fields: { path: text, through: text, summary: text },
    listed: false,
    progress: true,
    log: ({ path, through, summary }) => `conversation of ${path} summarised up to ${through}: ${shorten(summary)}`,
    apply(state, { path = '', through, summary, seq }) {
      const attempt = state.attempts.get(path)
      if (attempt) attempt.summary = { through, text: summary, seq }
    },
  },
}

/** Failed tries whose usage the provider reported. */
function paidTries({ tries = [] }: Pick<EntryOf<'model.replied'>, 'tries'>): SpentCall[] {
  return tries.flatMap(({ at, usage: spent }) => (spent ? [{ at, usage: spent }] : []))
}

/** Adds the usage of failed tries to what the run has spent, at the time when they were recorded. */
function addFailedTries(
  state: RunState,
  attempt: AttemptState,
  entry: EntryOf<'model.replied' | 'model.failed'>,
): void {
  for (const { usage: spent } of paidTries(entry)) {
    addSpending(state, entry.at, attempt.request.model, spent)
    attempt.lost.push({ usage: spent, at: entry.at })
  }
}

export const questionRows: EntryRows<'question' | 'message' | 'callback' | 'file' | 'event'> = {
  'event.received': {
    fields: { name: text, value: json, id: optional(text), by },
    listed: true,
    progress: true,
    log: ({ name }) => `event ${name} received`,
    apply(state, entry) {
      addEvent(state, entry)
      markWoken(state)
    },
  },
  'question.asked': {
    fields: { question },
    listed: true,
    progress: true,
    log: ({ question: { id, text: words } }) => `question ${id}: ${words}`,
    apply(state, entry) {
      addQuestion(state, { question: entry.question, askedAt: entry.at })
      callAt(state, entry.question.path)?.questions.push(entry.question.id)
    },
  },
  'question.answered': {
    fields: { question: text, answer },
    listed: true,
    progress: true,
    log: (entry) => `question ${entry.question} answered: ${entry.answer.decision}`,
    apply(state, entry) {
      const asked = state.questions.get(entry.question)
      if (!asked) return
      asked.answer = entry.answer
      state.unanswered.delete(asked)
      markWoken(state)
      // limits that the answer doesn't raise stay as they were
      if (entry.answer.decision === 'raise' && asked.question.kind === 'limit')
        state.budget = { ...(asked.question.limit as Limit), ...(entry.answer.to as Limit) }
    },
  },
  'message.refused': {
    fields: { message: text, reason: text },
    listed: true,
    progress: false,
    log: ({ message, reason }) => `message ${message} refused: ${reason}`,
    apply() {},
  },
  'callback.returned': {
    fields: { of: amount },
    listed: false,
    progress: true,
    log: undefined,
    apply(state, entry) {
      if (entry.path === undefined) state.told = entry.of
      else taskAt(state, entry.path).told = entry.of
    },
  },
  'file.written': {
    fields: { path: text, of: amount, file: text, bytes: amount },
    listed: false,
    progress: true,
    log: ({ path, file }) => `task ${path} written to ${file}`,
    apply(state, { path, of, file }) {
      taskAt(state, path).written = { of, file }
    },
  },
}
