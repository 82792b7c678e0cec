// Compares fingerprints, and describes what changed. A fingerprint has one digest per field, so that a stale output can
// always be explained. Fields with a colon name one of many ("tool:lookup_policy", "input:notes", "context:facts").
// Free of Node, for the page.
import { ownMember } from '../base/options.ts'
import type { Fingerprint } from './entries.ts'

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
