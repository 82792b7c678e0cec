// What a worker needs from a crew.
import type { World } from '../../engine/definition.ts'
import { crewLanes } from '../../engine/read/lanes.ts'
import type { Lane } from '../../stores/store.ts'
import { checkModels } from '../arguments/check-executable.ts'
import type { OpenCrew } from '../open-crew.ts'
import type { CrewOptions } from '../options/crew-options.ts'
import type { PatientStore } from '../../stores/patient/patient-store.ts'

export interface ServingOptions {
  readonly store: PatientStore
  readonly world: World
  /** Lanes of the runs that this code serves. */
  readonly lanes: readonly Lane[]
  readonly maxRuns: number | undefined
}

/**
 * MODEL_KEY_MISSING, MODEL_INVALID: without its models, a worker would claim the crew's runs again and again for
 * nothing.
 */
export async function servingOptions(
  open: OpenCrew,
  { maxRuns }: Pick<CrewOptions, 'maxRuns'>,
): Promise<ServingOptions> {
  checkModels(open.definition.tasks)
  const { store, world } = await open.engine()
  return { store, world, lanes: crewLanes(open.definition), maxRuns }
}
