// Which runs the code at hand may take up without being asked: those of its crew, in the versions that it accepts.
import { journalVersion } from '../../journal/entries.ts'
import { isSameLane } from '../../stores/rules/claim-order.ts'
import type { Lane, RunRow } from '../../stores/store.ts'
import type { CrewDefinition } from '../definition.ts'

/** For `claim`. */
export function crewLanes({
  name,
  version,
  accepts = [],
}: Pick<CrewDefinition, 'name' | 'version' | 'accepts'>): Lane[] {
  return [...new Set([version, ...accepts])].map((one) => ({ crew: name, version: one, format: journalVersion }))
}

export function isServedBy(crew: CrewDefinition, row: RunRow): boolean {
  return crewLanes(crew).some((lane) => isSameLane(lane, row))
}
