// One turn of an attempt, within the model's window: a conversation that is longer than the agent's `contextTokens` is
// first summarised, and one that the provider calls too long is summarised and sent again, once.
import { isModelFailure } from '../../models/model-failure.ts'
import type { ActiveAttempt } from '../life.ts'
import { askModel } from './ask-model.ts'
import { begunSummary, overflowing, summarise, tooMuch } from './summarise.ts'

export async function takeTurn(work: ActiveAttempt): Promise<void> {
  const { contextTokens } = work.task.agent
  const begun = begunSummary(work)
  if (begun) await summarise(work, begun)
  const overflow = contextTokens === undefined ? undefined : overflowing(work, contextTokens)
  if (overflow) await summarise(work, overflow)
  try {
    await askModel(work)
  } catch (error) {
    const through = isModelFailure(error) && error.tooLong ? tooMuch(work) : undefined
    if (!through) throw error
    await summarise(work, through)
    await askModel(work)
  }
}
