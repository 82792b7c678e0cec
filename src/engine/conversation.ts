// The messages of an attempt, made from its pinned request and its recorded turns alone: the same in every process.
import type { AttemptState, RunState, TurnState } from '../journal/state.ts'
import type { Message } from '../models/messages.ts'

/** An attempt that carries another one on begins with all of that one's messages, and with the reason that it was sent back. */
export function conversation(state: RunState, attempt: AttemptState): Message[] {
  const carried = attempt.carries && state.attempts.get(attempt.carries.path)
  const before: Message[] =
    carried && attempt.carries
      ? [...conversation(state, carried), { role: 'user', text: attempt.carries.message }]
      : [{ role: 'user', text: attempt.request.message }]
  return [...before, ...attempt.turns.flatMap(turnMessages)]
}

function turnMessages(turn: TurnState): Message[] {
  const said: Message = { role: 'assistant', parts: turn.reply.parts }
  if (turn.calls.length === 0) return [said]
  const results = turn.calls.map((call) => ({
    id: call.request.id,
    tool: call.request.tool,
    outcome: call.outcome ?? { error: 'this call was not made' },
  }))
  return [said, { role: 'tool', results }]
}
