// Whether the crews of this folder can be loaded, and have what their models and telemetry need. No model is called.
import type { Crew } from '../../crew/crew.ts'
import { RepriseError, messageOf } from '../../base/errors.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { isInstalled } from '../../base/optional-package.ts'
import { loadCrew, loadCrews } from '../find/load-crew.ts'
import { usualFile } from '../find/usual-file.ts'
import { plural } from '../output/words.ts'
import type { CommandNext, Commands } from '../write-command.ts'
import { ok, warn, fail, type Check } from './check.ts'

export interface FoundCrews {
  readonly crews: readonly Crew[]
  readonly checks: readonly Check[]
}

const lookAgain: CommandNext = { type: 'command', to: 'look again', words: ['doctor'], takes: 'crew' }

export async function checkCrews(
  file: string | undefined,
  wanted: string | undefined,
  commands: Commands,
): Promise<FoundCrews> {
  try {
    const path = file ?? usualFile()
    if (path === undefined) {
      const next = commands.advice({ type: 'command', to: 'or make a project', words: ['create'], takes: 'nothing' })
      const words = `name one with --file (commands on stored runs need none), ${next}`
      return { crews: [], checks: [warn('crew', 'there is no file of a crew in this folder', words)] }
    }
    const several = wanted === undefined ? await loadCrews(path) : []
    const crews = several.length > 1 ? several : [await loadCrew(path, wanted)]
    const loaded = crews.map((crew) => {
      const { tasks, inputs } = crew
      const names = tasks.map((task) => task.name).join(', ')
      const takes =
        inputs.length === 0 ? 'no inputs' : `${inputs.length === 1 ? 'input' : 'inputs'} ${inputs.join(', ')}`
      return ok('crew', `${crew.name} of ${path}: ${plural(tasks.length, 'task')} (${names}), ${takes}`)
    })
    return { crews, checks: [...loaded, ...checkModels(crews, commands), ...checkTelemetry(crews)] }
  } catch (error) {
    return { crews: [], checks: [fail('crew', messageOf(error), `correct that, and ${commands.advice(lookAgain)}`)] }
  }
}

function checkModels(crews: readonly Crew[], commands: Commands): Check[] {
  const models = new Map(crews.flatMap((crew) => crew.models.map((model) => [modelName(model), model] as const)))
  return [...models].map(([name, model]) => {
    try {
      checkModel(model)
      return ok('model', name)
    } catch (error) {
      const keyless = RepriseError.isInstance(error) && error.code === 'MODEL_KEY_MISSING'
      return fail(
        'model',
        messageOf(error),
        keyless ? 'set it in the environment, or in .env' : `then ${commands.advice(lookAgain)}`,
      )
    }
  })
}

function checkTelemetry(crews: readonly Crew[]): Check[] {
  const name = '@opentelemetry/api'
  if (crews.every((crew) => crew.telemetry === undefined)) return []
  return [
    isInstalled(name)
      ? ok('telemetry', `${name} is installed`)
      : fail('telemetry', `${name} is missing`, `run npm install ${name}`),
  ]
}
