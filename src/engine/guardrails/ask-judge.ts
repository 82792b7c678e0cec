// A guardrail written as a sentence: the agent's model judges the answer by it.
import { defined } from '../../base/defined.ts'
import { RepriseError } from '../../base/errors.ts'
import type { PinnedRequest } from '../../journal/entries.ts'
import type { Json } from '../../journal/json.ts'
import { attemptPath } from '../../journal/paths.ts'
import { replyText, type AttemptState } from '../../journal/state/state.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import type { ActiveAttempt } from '../life.ts'
import { judgeInstructions, judgeMessage } from '../model/engine-prompts.ts'
import { takeTurn } from '../model/take-turn.ts'

export type JudgeVerdict =
  | { readonly accepted: true; readonly raw?: string }
  | { readonly accepted: false; readonly reason: string }

/** The judge is an attempt nested in the turn of the answer, so that its verdict is read back after a crash. */
export async function askJudge(
  work: ActiveAttempt,
  sentence: string,
  index: number,
  raw: string,
): Promise<JudgeVerdict> {
  const { life, task, attempt } = work
  const path = attemptPath(`guardrail-${index + 1}`, 1, attempt.turns.at(-1)?.path)
  if (!life.state.attempts.has(path)) {
    const request: PinnedRequest = {
      instructions: judgeInstructions,
      message: judgeMessage(sentence, attempt.pinned?.message ?? [], raw),
      ...defined({ files: attempt.request.files }),
      tools: [],
      model: modelName(task.agent.model),
      settings: task.agent.settings,
      output: verdictSchema,
    }
    const pinned = { request: request as unknown as Json, fingerprint: {}, agent: task.agent.title(life.state.inputs) }
    life.note([{ type: 'task.started', path, ...pinned }])
  }
  const judging = life.state.attempts.get(path) as AttemptState
  if (judging.turns.length === 0) await takeTurn({ ...work, attempt: judging })
  const turn = judging.turns.at(-1)
  const verdict = readVerdict(turn ? replyText(turn.reply) : '')
  if (verdict) return verdict
  throw new RepriseError(
    'OUTPUT_REFUSED',
    `the guardrail ${JSON.stringify(sentence)} got no verdict from the model; use a stronger model, or a function`,
    { runId: life.state.run, task: task.name },
  )
}

const verdictSchema = {
  type: 'object',
  properties: { accept: { type: 'boolean' }, reason: { type: 'string' } },
  required: ['accept', 'reason'],
  additionalProperties: false,
}

function readVerdict(text: string): JudgeVerdict | undefined {
  const json = /\{[\s\S]*\}/.exec(text)?.[0]
  try {
    const { accept, reason } = JSON.parse(json ?? '') as { accept?: unknown; reason?: unknown }
    if (typeof accept !== 'boolean') return undefined
    return accept ? { accepted: true } : { accepted: false, reason: typeof reason === 'string' ? reason : '' }
  } catch {
    return undefined
  }
}
