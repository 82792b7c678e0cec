// What a question is called on the page, and its address there.
import type { QuestionView } from '../../api/contract.ts'

type QuestionId = Pick<QuestionView, 'runId' | 'id'>

export function questionKey({ runId, id }: QuestionId): string {
  return `${runId} ${id}`
}

export function questionPath(question: QuestionId): string {
  return `/?question=${encodeURIComponent(questionKey(question))}`
}
