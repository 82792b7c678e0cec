// Changes of a run's tasks, and a move to another store, in words.
import type { NextStep } from '../base/next.ts'
import type { OrphanedTask, TaskListChanges, Fingerprint } from './entries.ts'
import { ownMember } from '../base/options.ts'

/** `book (2 recorded steps, an open question; is it post now?)` */
export function describeOrphan(orphan: OrphanedTask): string {
  return `${orphan.task} (${holdsWords(orphan)})`
}

/** `2 recorded steps, an open question; is it post now?` */
export function holdsWords({ holds, because, nearest: meant }: OrphanedTask): string {
  const more = because ?? (meant === undefined ? undefined : `is it ${meant} now?`)
  return `${holds.join(', ')}${more === undefined ? '' : `; ${more}`}`
}

/** Why a run was suspended with the reason `takeovers`. */
export const givenUpReason = 'was given up: its process ended five times in a row without a new step'

/** `added audit; removed note; renamed book to post` */
export function describeTaskChanges({ added = [], removed = [], renamed = {} }: TaskListChanges): string {
  const moved = Object.entries(renamed).map(([old, now]) => `${old} to ${now}`)
  return [
    ...(added.length > 0 ? [`added ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`removed ${removed.join(', ')}`] : []),
    ...(moved.length > 0 ? [`renamed ${moved.join(', ')}`] : []),
  ].join('; ')
}

interface EarlierDecisions {
  readonly renamed?: { readonly [task: string]: string } | undefined
  readonly removed?: readonly string[] | undefined
}

/** A resume with the earlier decisions about other tasks, and the most likely one about each orphaned task. */
export function suggestDecision(
  runId: string,
  orphaned: readonly OrphanedTask[],
  earlier: EarlierDecisions = {},
): NextStep<'resume'> {
  const named = orphaned.flatMap(({ task, nearest: meant }) => (meant === undefined ? [] : [[task, meant] as const]))
  const kept = Object.entries(earlier.renamed ?? {}).filter(([old]) => orphaned.every(({ task }) => task !== old))
  const renamed = Object.fromEntries([...kept, ...named])
  const unnamed = orphaned.filter(({ nearest: meant }) => meant === undefined).map(({ task }) => task)
  const removed = [...(earlier.removed ?? []), ...unnamed]
  return {
    type: 'resume',
    runId,
    ...(Object.keys(renamed).length > 0 ? { renamed } : {}),
    ...(removed.length > 0 ? { removed } : {}),
  }
}

/** A fork with the most likely new names of the orphaned tasks. */
export function suggestNames(orphaned: readonly OrphanedTask[]): NextStep<'rename'> {
  return {
    type: 'rename',
    renamed: Object.fromEntries(orphaned.map(({ task, nearest: meant = '…' }) => [task, meant])),
  }
}

/** `was moved to sqlite:there.db` */
export function movedWords({
  to = 'another store',
  arrived,
}: {
  readonly to?: string
  readonly arrived?: true
}): string {
  return arrived ? `was moved to ${to}` : `was being moved to ${to} when the copy was cut off: copy it there again`
}

// Compares fingerprints, and describes what changed. A fingerprint has one digest per field, so that a stale output can
// always be explained. Fields with a colon name one of many ("tool:lookup_policy", "input:notes", "context:facts").
// Free of Node, for the page.

/** The fields that differ, sorted. A field that only one side has differs. */
export function changedFields(stored: Fingerprint, now: Fingerprint): string[] {
  const fields = new Set([...Object.keys(stored), ...Object.keys(now)])
  return [...fields].filter((field) => ownMember(stored, field) !== ownMember(now, field)).toSorted()
}

/** "context facts changed; tool lookup_policy added". */
export function explainChange(stored: Fingerprint, now: Fingerprint): string[] {
  return changedFields(stored, now).map((field) => {
    const what = field.replace(':', ' ')
    if (!Object.hasOwn(stored, field)) return `${what} added`
    return Object.hasOwn(now, field) ? `${what} changed` : `${what} removed`
  })
}
