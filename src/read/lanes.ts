// The lanes of a crew: its name with each version that it accepts, in this build's journal format. Workers execute runs
// of these lanes.
import { journalVersion } from '../journal/entries.ts'
import { isSameLane } from '../stores/rules/leases.ts'
import type { Lane, RunRow } from '../stores/store.ts'

/** What a crew's code executes: runs of its own version, and of versions that it accepts. */
interface Served {
  readonly name: string
  readonly version: string
  readonly accepts?: readonly string[] | undefined
}

export function crewLanes({ name, version, accepts = [] }: Served): Lane[] {
  return [...new Set([version, ...accepts])].map((one) => ({ crew: name, version: one, format: journalVersion }))
}

export function isServedBy(crew: Served, row: RunRow): boolean {
  return crewLanes(crew).some((lane) => isSameLane(lane, row))
}
