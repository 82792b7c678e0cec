// What a question is called on the page, and its address there.
import type { QuestionView } from '../../api/contract.ts'

type Named = Pick<QuestionView, 'runId' | 'id'>

export function idOf({ runId, id }: Named): string {
  return `${runId} ${id}`
}

export function pathOf(question: Named): string {
  return `/?question=${encodeURIComponent(idOf(question))}`
}
