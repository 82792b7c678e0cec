// Takes one turn of an attempt within the model's context window. A conversation longer than the agent's
// `contextTokens` is summarised first. If the provider refuses it as too long, it is summarised and sent once more.
import { isModelFailure } from '../../models/model-failure.ts'
import type { ActiveAttempt } from '../life.ts'
import { askModel } from './ask-model.ts'
import { lastTurnOverLimit, lastTurnToShorten, summarise, unfinishedSummary } from './summarise.ts'

export async function takeTurn(work: ActiveAttempt): Promise<void> {
  const { contextTokens } = work.task.agent
  const unfinished = unfinishedSummary(work)
  if (unfinished) await summarise(work, unfinished)
  const overLimit = contextTokens === undefined ? undefined : lastTurnOverLimit(work, contextTokens)
  if (overLimit) await summarise(work, overLimit)
  try {
    await askModel(work)
  } catch (error) {
    const through = isModelFailure(error) && error.tooLong ? lastTurnToShorten(work) : undefined
    if (!through) throw error
    await summarise(work, through)
    await askModel(work)
  }
}
