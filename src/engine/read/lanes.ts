// The lanes of a crew: its name with each version that it accepts. Workers execute runs of these lanes.
import { journalVersion } from '../../journal/entries.ts'
import { isSameLane } from '../../stores/rules/leases.ts'
import type { Lane, RunRow } from '../../stores/store.ts'
import type { CrewDefinition } from '../definition.ts'

export function crewLanes({
  name,
  version,
  accepts = [],
}: Pick<CrewDefinition, 'name' | 'version' | 'accepts'>): Lane[] {
  return [...new Set([version, ...accepts])].map((one) => ({ crew: name, version: one, format: journalVersion }))
}

/** Whether a run, given by its row, is in one of the crew's lanes. */
export function isServedBy(crew: CrewDefinition, row: RunRow): boolean {
  return crewLanes(crew).some((lane) => isSameLane(lane, row))
}
