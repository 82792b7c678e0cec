// Whether the crew of this folder can be loaded, and has what its models and its telemetry need. No model is asked.
import type { Crew } from '../../crew/crew.ts'
import { RepriseError, messageOf } from '../../errors.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { isInstalled } from '../../optional-package.ts'
import { loadCrew } from '../find/load-crew.ts'
import { usualFile } from '../find/usual-file.ts'
import { plural } from '../terminal/entries-word.ts'
import type { CommandNext, Commands } from '../write-command.ts'
import { ok, warn, fail, type Check } from './check.ts'

export interface FoundCrew {
  readonly crew?: Crew
  readonly checks: readonly Check[]
}

const lookAgain: CommandNext = { act: 'command', to: 'look again', words: ['doctor'], takes: 'crew' }

export async function checkCrew(
  file: string | undefined,
  wanted: string | undefined,
  commands: Commands,
): Promise<FoundCrew> {
  try {
    const path = file ?? usualFile()
    if (path === undefined) {
      const next = commands.advice({ act: 'command', to: 'or make a project', words: ['create'], takes: 'nothing' })
      const words = `name one with --file (commands on stored runs need none), ${next}`
      return { checks: [warn('crew', 'there is no file of a crew in this folder', words)] }
    }
    const crew = await loadCrew(path, wanted)
    const { tasks, inputs } = crew
    const names = tasks.map((task) => task.name).join(', ')
    const takes = inputs.length === 0 ? 'no inputs' : `${inputs.length === 1 ? 'input' : 'inputs'} ${inputs.join(', ')}`
    const loaded = ok('crew', `${crew.name} of ${path}: ${plural(tasks.length, 'task')} (${names}), ${takes}`)
    return { crew, checks: [loaded, ...checkModels(crew, commands), ...checkTelemetry(crew)] }
  } catch (error) {
    return { checks: [fail('crew', messageOf(error), `correct that, and ${commands.advice(lookAgain)}`)] }
  }
}

function checkModels(crew: Crew, commands: Commands): Check[] {
  const models = new Map(crew.models.map((model) => [modelName(model), model]))
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

function checkTelemetry(crew: Crew): Check[] {
  const name = '@opentelemetry/api'
  if (crew.telemetry === undefined) return []
  return [
    isInstalled(name)
      ? ok('telemetry', `${name} is installed`)
      : fail('telemetry', `${name} is missing`, `run npm install ${name}`),
  ]
}
