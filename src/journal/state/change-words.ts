// Changed tasks of a run, in words.
import type { OrphanedTask, TaskChanges } from '../entries.ts'

/** `book (2 recorded steps, an open question; is it post now?)` */
export function orphanWords({ task, holds, because, nearest: meant }: OrphanedTask): string {
  const more = because ?? (meant === undefined ? undefined : `is it ${meant} now?`)
  return `${task} (${holds.join(', ')}${more === undefined ? '' : `; ${more}`})`
}

/** `added audit; removed note; renamed book to post` */
export function changeWords({ added = [], removed = [], renamed = {} }: TaskChanges): string {
  const moved = Object.entries(renamed).map(([old, now]) => `${old} to ${now}`)
  return [
    ...(added.length > 0 ? [`added ${added.join(', ')}`] : []),
    ...(removed.length > 0 ? [`removed ${removed.join(', ')}`] : []),
    ...(moved.length > 0 ? [`renamed ${moved.join(', ')}`] : []),
  ].join('; ')
}
