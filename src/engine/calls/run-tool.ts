// One call of a tool: its result or error as JSON, or that it was given up without anyone knowing how it ended.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { messageOf, RepriseError } from '../../errors.ts'
import { throughJson } from '../../journal/json.ts'
import type { ToolOutcome } from '../../journal/state/state.ts'
import { redact } from '../../secrets/redact.ts'
import type { Tool, ToolContext } from '../../tools/tool.ts'
import { deadline, unlessAborted } from '../limits/deadline.ts'

/** `lingers` hears of a call that goes on although it was given up. */
export async function runTool(
  tool: Tool,
  input: unknown,
  context: ToolContext,
  lingers: (over: Promise<unknown>) => void,
): Promise<ToolOutcome | { abandoned: string }> {
  using time = deadline(tool.maxSeconds, context.signal)
  const { signal } = time
  // Promise.try, so that a tool that throws at once and one that rejects are alike
  const running = Promise.try(() => tool.run(input as never, { ...context, signal })).then(
    (result) => toOutcome(result, tool.name),
    (error: unknown) => (isUnknown(error) ? { abandoned: redact(error.message) } : toError(error)),
  )
  const ended = await unlessAborted(running, signal).catch(() => undefined)
  // a tool that throws because it was told to stop has not said what it did before that
  if (ended && (!signal.aborted || 'result' in ended)) return ended
  // one that listens to its signal ends now; the others go on, and nobody can stop them
  const over = await Promise.race([running.then(() => true), nextTurn().then(() => false)])
  if (!over) lingers(running)
  return { abandoned: time.over ? `it did not end within ${tool.maxSeconds} s` : 'it was stopped while it ran' }
}

/** What a tool gave, as the model and every later process will see it. */
export function toOutcome(result: unknown, tool: string): ToolOutcome {
  const json = throughJson(result, tool)
  return json.ok ? { result: json.value } : { unreadable: `${json.path}: ${json.found}` }
}

/** How a tool says that it cannot tell whether it did what it was told to: a connection ended before the answer came. */
function isUnknown(error: unknown): error is RepriseError {
  return RepriseError.isInstance(error) && error.code === 'OUTCOME_UNKNOWN'
}

function toError(error: unknown): ToolOutcome {
  return { error: redact(messageOf(error)) }
}
