// `reprise doctor`: checks everything that a crew needs to run here, and prints what to do about each problem. No model
// is called, and nothing is written.
import { fileArgument, withCrew } from '../options.ts'
import { checkStores } from '../doctor/check-store.ts'
import { type Check, ok, warn, fail } from '../doctor/check.ts'
import { exitCodes } from '../exit-codes.ts'
import { locateStore } from '../find/open-runs.ts'
import type { Command, CrewOptions, Invocation } from '../command.ts'
import { plural } from '../../text/words.ts'
import type { Channel, Format } from '../output/terminal.ts'
import { wrap } from '../../text/wrap.ts'
import type { Crew } from '../../crew/crew.ts'
import { RepriseError, messageOf } from '../../base/errors.ts'
import { checkModel, modelName } from '../../models/resolve/resolve-model.ts'
import { isInstalled } from '../../base/optional-package.ts'
import { loadCrew, loadCrews } from '../find/load-crew.ts'
import { usualFile } from '../find/usual-file.ts'
import type { CommandNext, Commands } from '../write-command.ts'
import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { environment, firstSet } from '../../base/environment.ts'
import { providers } from '../../models/resolve/providers.ts'
import { packageVersion as version } from '../../studio/package-version.ts'

export const doctorCommand: Command<CrewOptions> = {
  declare: (command) => withCrew(command).argument('[file]', fileArgument),
  examples: ['reprise doctor'],
  action: doctor,
}

async function doctor({ terminal, args, options, commands }: Invocation<CrewOptions>): Promise<number> {
  const [file = options.file] = args
  const { crews, checks } = await checkCrews(file, options.crew, commands)
  commands.setStore(locateStore(crews[0]?.store, commands.file))
  const all = [...checkEnvironment(), ...checks, ...(await checkStores(options.store, crews, commands))]
  for (const check of all) {
    if (terminal.json) terminal.record(check)
    else printDoctorCheck(terminal.out, check)
  }
  const failed = all.filter(({ state }) => state === 'fail').length
  const warned = all.filter(({ state }) => state === 'warn').length
  const words = [...(failed > 0 ? [`${failed} failed`] : []), ...(warned > 0 ? [plural(warned, 'warning')] : [])]
  terminal.err.line(words.join(', ') || 'all is well')
  return failed > 0 ? exitCodes.failed : exitCodes.done
}

const formats: { readonly [state in Check['state']]: Format } = { ok: 'green', warn: 'yellow', fail: 'red' }
const column = 18

function printDoctorCheck(channel: Channel, { check, state, says, next }: Check): void {
  const head = `${state.padEnd(5)} ${check.padEnd(11)} `
  const [top = '', ...below] = says.split('\n')
  const [first = '', ...rest] = wrap(head + top, channel.width, column)
  const rows = [...rest, ...below.flatMap((row) => wrap(' '.repeat(column) + row, channel.width, column + 2))]
  channel.line({ text: first.slice(0, 5), format: formats[state] }, first.slice(5))
  for (const row of rows) channel.line(row)
  if (next !== undefined)
    for (const row of wrap(`${' '.repeat(column)}${next}`, channel.width, column))
      channel.line({ text: row, format: 'dim' })
}

interface FoundCrews {
  readonly crews: readonly Crew[]
  readonly checks: readonly Check[]
}

const checkAgain: CommandNext = { type: 'command', to: 'check again', words: ['doctor'], takes: 'crew' }

/** Checks whether the crews can be loaded, and whether their models and telemetry have what they need. */
async function checkCrews(
  file: string | undefined,
  wanted: string | undefined,
  commands: Commands,
): Promise<FoundCrews> {
  try {
    const path = file ?? usualFile()
    if (path === undefined) {
      const next = commands.advice({ type: 'command', to: 'or create a project', words: ['create'], takes: 'nothing' })
      const words = `name one with --file (commands on stored runs need none), ${next}`
      return { crews: [], checks: [warn('crew', 'there is no file of a crew in this folder', words)] }
    }
    const several = wanted === undefined ? await loadCrews(path) : []
    const crews = several.length > 1 ? several : [await loadCrew(path, wanted)]
    const loaded = crews.map((crew) => {
      const { tasks, inputs } = crew
      const names = tasks.map((task) => task.name).join(', ')
      const what = crew.describe().flow ? 'a flow' : `${plural(tasks.length, 'task')} (${names})`
      const takes =
        inputs.length === 0 ? 'no inputs' : `${inputs.length === 1 ? 'input' : 'inputs'} ${inputs.join(', ')}`
      return ok('crew', `${crew.name} of ${path}: ${what}, ${takes}`)
    })
    return { crews, checks: [...loaded, ...checkModels(crews, commands), ...checkTelemetry(crews)] }
  } catch (error) {
    return { crews: [], checks: [fail('crew', messageOf(error), `correct that, and ${commands.advice(checkAgain)}`)] }
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
        keyless ? 'set it in the environment, or in .env' : `then ${commands.advice(checkAgain)}`,
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

/** Checks Node, the package, the terminal and the environment. Prints no values of keys, only their names. */
function checkEnvironment(): Check[] {
  return [checkRuntime(), ok('reprise', version()), checkTerminal(), checkEnvFile(), ...checkVariables(), checkKeys()]
}

/** Always ok: main.ts has refused an older Node. Bun and Deno report a version of Node, too. */
function checkRuntime(): Check {
  const { versions, platform, arch } = process
  const name = ['bun', 'deno'].find((other) => versions[other] !== undefined) ?? 'node'
  return ok(name, `${versions[name]} on ${platform} ${arch}`)
}

function checkTerminal(): Check {
  const { stdin, stdout, stderr } = process
  const streams = { stdin, stdout, stderr }
  const piped = Object.entries(streams).flatMap(([name, stream]) => (stream.isTTY ? [] : [name]))
  if (piped.length > 0) {
    const words = `${piped.join(', ')} ${piped.length === 1 ? 'is' : 'are'} not a terminal`
    return ok(
      'terminal',
      `${words}: ${piped.includes('stderr') || piped.includes('stdin') ? 'commands ask no questions' : 'data is printed unformatted'}`,
    )
  }
  const depth = stderr.getColorDepth()
  const size = `${stderr.columns} columns, ${depth > 1 ? `${2 ** depth} colours` : 'no colours'}`
  if (environment().dumbTerminal)
    return warn(
      'terminal',
      `${size}, and TERM is dumb: progress is printed line by line`,
      'set TERM, to xterm-256color for example',
    )
  return ok('terminal', size)
}

function checkEnvFile(): Check {
  if (!existsSync('.env')) return ok('.env', 'none in this folder: only the environment is used')
  try {
    const names = Object.keys(parseEnv(readFileSync('.env', 'utf8')))
    return ok('.env', plural(names.length, 'variable'))
  } catch (error) {
    return fail('.env', messageOf(error), 'correct it, or remove it')
  }
}

function checkVariables(): Check[] {
  try {
    // reading it throws if the variable is wrong
    void environment().leaseSeconds
    return []
  } catch (error) {
    return [fail('environment', messageOf(error), 'correct the variable')]
  }
}

function checkKeys(): Check {
  const set = providers.flatMap((provider) => provider.keys).filter((name) => firstSet([name]) !== undefined)
  // the check of the crew's models reports a missing key
  if (set.length === 0) return ok('keys', 'no key of a model provider is set')
  return ok('keys', `${set.join(', ')} ${set.length === 1 ? 'is' : 'are'} set`)
}
