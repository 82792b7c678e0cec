// Words for changed tasks, orphaned work, moved runs and changed fingerprints. Free of Node, for the page.
import type { NextStep } from '../base/next.ts'
import type { OrphanedTask, TaskListChanges, Fingerprint } from './entries.ts'
import { ownMember } from '../base/options.ts'

/** `book (2 recorded steps, an open question; is it post now?)` */
export function describeOrphan(orphan: OrphanedTask): string {
  return `${orphan.task} (${holdsWords(orphan)})`
}

/** `2 recorded steps, an open question; is it post now?` */
export function holdsWords({ holds, because, nearest }: OrphanedTask): string {
  const more = because ?? (nearest === undefined ? undefined : `is it ${nearest} now?`)
  return `${holds.join(', ')}${more === undefined ? '' : `; ${more}`}`
}

/** Words for a run that was suspended with the reason `takeovers`. */
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

/** Suggests a resume with the earlier decisions, plus the most likely decision about each orphaned task. */
export function suggestDecision(
  runId: string,
  orphaned: readonly OrphanedTask[],
  earlier: EarlierDecisions = {},
): NextStep<'resume'> {
  const likely = orphaned.flatMap(({ task, nearest }) => (nearest === undefined ? [] : [[task, nearest] as const]))
  const kept = Object.entries(earlier.renamed ?? {}).filter(([old]) => orphaned.every(({ task }) => task !== old))
  const renamed = Object.fromEntries([...kept, ...likely])
  const unlikely = orphaned.filter(({ nearest }) => nearest === undefined).map(({ task }) => task)
  const removed = [...(earlier.removed ?? []), ...unlikely]
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

// Changed fingerprints. A fingerprint has one digest per field, so that a stale output can always be explained. A field
// with a colon stands for one of several tools, inputs or outputs: "tool:lookup_policy", "input:notes",
// "context:facts".

/** The fields that differ, sorted, including fields that only one side has. */
export function changedFields(stored: Fingerprint, now: Fingerprint): string[] {
  const fields = new Set([...Object.keys(stored), ...Object.keys(now)])
  return [...fields].filter((field) => ownMember(stored, field) !== ownMember(now, field)).toSorted()
}

/** `['context facts changed', 'tool lookup_policy added']` */
export function explainChange(stored: Fingerprint, now: Fingerprint): string[] {
  return changedFields(stored, now).map((field) => {
    const what = field.replace(':', ' ')
    if (!Object.hasOwn(stored, field)) return `${what} added`
    return Object.hasOwn(now, field) ? `${what} changed` : `${what} removed`
  })
}
