// What is chosen in a run, as the address has it: `at` is a task, or the path of an attempt or a step, and `in` the run
// of a crew that it is of, without the id of the page's run, with which such ids begin.
import { currentLocation, withQuery } from '../routing/router.ts'

export interface Selection {
  /** The run of the page, or one that works for it. */
  readonly run: string
  readonly at: string
}

export function readSelection(runId: string, query: URLSearchParams): Selection | undefined {
  const [at, within] = [query.get('at'), query.get('in')]
  if (at === null) return undefined
  return { run: within === null ? runId : `${runId}/${within}`, at }
}

/** The same page with this chosen; undefined: with nothing. */
export function selectionPath(chosen: Selection | undefined): string {
  const runId = currentLocation.peek().parts[1] ?? ''
  const within = chosen && chosen.run !== runId ? chosen.run.slice(runId.length + 1) : undefined
  return withQuery({ in: within, at: chosen?.at })
}
