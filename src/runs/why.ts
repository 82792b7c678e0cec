// Why a run has its status, in facts. The next steps are up to the surface.
import { describeOrphan, givenUpReason, movedWords } from '../journal/describe.ts'
import { isReady, type Wakeable } from '../engine/read/due.ts'
import { parentRunId, childRunId, rootRunId } from '../journal/paths.ts'
import type { RunState } from '../journal/state/state.ts'
import { plural } from '../text/words.ts'
import type { RunViewStatus } from './status.ts'

interface SuspendedRun extends Wakeable {
  readonly runId: string
}

interface RunFacts extends SuspendedRun {
  readonly status: RunViewStatus
  readonly openQuestions: number
  readonly error: RunState['error']
  /** When a worker starts it, or tries it again. */
  readonly dueAt?: string | undefined
}

/** A sentence for a run that waits, was stopped, failed or lost its process. */
export function describeWhy(facts: RunFacts): string | undefined {
  const { status, openQuestions, error, dueAt, imported } = facts
  switch (status) {
    case 'queued':
      if (facts.suspended) return `it ${describeStop(facts)}`
      if (imported) return importedWords
      return dueAt === undefined ? 'it waits for a worker' : `no worker starts it before ${dueAt}`
    case 'abandoned':
      return imported ? importedWords : 'its process is gone'
    case 'waiting':
      return `it waits for ${plural(openQuestions, 'answer')}`
    case 'stopped':
      return `it ${describeStop(facts)}`
    case 'failed':
      return dueAt === undefined || imported ? error?.message : `${error?.message}; a worker tries again at ${dueAt}`
    default:
      return undefined
  }
}

/** Whether the run was given up because its processes ended each time. */
export function isGivenUpReason({ why }: { readonly why: string | undefined }): boolean {
  return why === `it ${givenUpReason}`
}

/** Whether the run was moved to another store. */
export function isMovedReason({ why }: { readonly why: string | undefined }): boolean {
  return /^it was (being )?moved to /.test(why ?? '')
}

const importedWords = 'it was imported, and workers leave imported runs alone'

/** For a suspended run that waits for no answer: `was stopped`. */
export function describeStop(run: SuspendedRun): string {
  const words = describeReason(run)
  if (!isReady(run) || run.suspended?.reason === 'parent') return words
  if (parentRunId(run.runId) !== undefined) return `${words}, and continues with run ${rootRunId(run.runId)}`
  return `${words}, and now waits for a worker or a resume`
}

function describeReason({ runId, suspended }: SuspendedRun): string {
  switch (suspended?.reason) {
    case 'questions':
    case 'limit':
      return 'has its answers'
    case 'child': {
      const runs = (suspended.children ?? []).map((attempt) => childRunId(runId, attempt))
      return runs.length === 0 ? 'has its answers' : `waited for ${runs.join(' and ')}`
    }
    case 'parent':
      return `works for run ${rootRunId(runId)}, which has used up its budget`
    case 'through':
      return `stopped after task ${suspended.through}, as asked`
    case 'tasks-changed':
      return `has recorded work that its crew has no task for: ${(suspended.orphaned ?? []).map(describeOrphan).join('; ')}`
    case 'takeovers':
      return givenUpReason
    case 'moved':
      return movedWords(suspended)
    case 'edited':
      return 'lacks entries, or some were changed, and it has tasks to do'
    default:
      return 'was stopped'
  }
}
