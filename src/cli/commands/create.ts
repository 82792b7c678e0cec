// `reprise create`: a new project that runs at once.
import { spawnSync } from 'node:child_process'
import { resolve } from 'node:path'
import { defined } from '../../base/options.ts'
import { parseModel } from '../../models/resolve/resolve-model.ts'
import {
  checkModelName,
  projectFiles,
  reprisePackage,
  variablesToSet,
  type ProjectOptions,
  defaultName,
  checkName,
  writeProject,
  checkFolder,
} from '../project.ts'
import { exitCodes, UsageError } from '../exit-codes.ts'
import type { Command, Invocation } from '../command.ts'
import { shellWord } from '../../text/words.ts'
import { canAsk, terminalPerson, askLine, type Person } from '../input/ask-line.ts'
import type { Channel } from '../output/terminal.ts'
import { messageOf } from '../../base/errors.ts'
import { pick } from '../input/pick.ts'
import { wrap } from '../../text/wrap.ts'

interface CreateOptions {
  readonly model?: string
  readonly yaml?: boolean
  readonly flow?: boolean
  readonly install?: boolean
  readonly yes?: boolean
}

export const createCommand: Command<CreateOptions> = {
  declare: (command) =>
    command
      .argument('[name]', 'name of the project and of its folder (default: my-crew)')
      .option('--model <model>', 'provider/model, for .env (default: REPRISE_MODEL, else openai/gpt-5-mini)')
      .option('--yaml', 'agents and tasks in config/*.yaml, as CrewAI has them')
      .option('--no-yaml', 'everything in TypeScript (the default)')
      .option('--flow', 'a flow instead of a crew: loops, routes and lists in plain code')
      .option('--install', 'run npm install in it')
      .option('--yes', 'use defaults instead of asking'),
  examples: ['reprise create claims --yaml', 'reprise create claims --flow'],
  action: create,
}

async function create({ args, options, terminal }: Invocation<CreateOptions>): Promise<number> {
  const { err } = terminal
  const given = readProjectOptions(args[0], options)
  const model = given.model ?? checkModelName(parseModel(undefined).name)
  const defaults = { name: defaultName, yaml: false, flow: false, ...given, model }
  const asks = options.yes !== true && canAsk()
  const project = asks ? await askProject(given, defaults, terminalPerson()) : defaults
  if (!project) {
    err.line('nothing was created')
    return exitCodes.usage
  }
  const files = projectFiles(project)
  writeProject(project.name, files)
  if (terminal.json)
    terminal.record({ ...project, folder: resolve(project.name), files: files.map(({ path }) => path) })
  err.line(
    { text: `created ${project.name}`, format: 'green' },
    `: ${files.length} files; begin with ${project.flow ? 'flow.ts' : 'crew.ts'}`,
  )
  const installed = options.install === true && install(project.name, err)
  printNextSteps(err, project, installed)
  return options.install === true && !installed ? exitCodes.failed : exitCodes.done
}

/** Checks what was typed before anything is asked. */
function readProjectOptions(name: string | undefined, { model, yaml, flow }: CreateOptions): Partial<ProjectOptions> {
  if (yaml === true && flow === true) throw new UsageError('a flow has no YAML files; leave out --yaml or --flow')
  if (name !== undefined) checkNewName(name)
  if (model !== undefined) checkModelName(model)
  return defined({ name, model, yaml, flow })
}

function install(folder: string, err: Channel): boolean {
  // npm prints to standard error: standard output is for data
  const { status, error } = spawnSync('npm', ['install'], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
    // npm is a script on Windows
    shell: process.platform === 'win32',
  })
  if (status === 0) return true
  const why = error ? error.message : `code ${status}`
  err.line(
    { text: 'error:', format: 'red' },
    ` npm install ended with ${why}; the project was created: run it again there`,
  )
  return false
}

function installNote(project: string): string {
  const { spec, folder } = reprisePackage(project)
  return folder === undefined ? '' : `if npm has no reprise@${spec} yet: npm install ${shellWord(folder)}`
}

function printNextSteps(err: Channel, { name, model }: ProjectOptions, installed: boolean): void {
  const toSet = variablesToSet(model)
  const lines: readonly (readonly [string, string])[] = [
    [`cd ${name}`, ''],
    ...(installed ? [] : [['npm install', installNote(name)] as const]),
    ['npm run offline', 'without a model: the answers come from a script'],
    ['npm start', toSet.length === 0 ? `with ${model}` : `with ${toSet.join(' and ')} in .env`],
  ]
  for (const [command, words] of lines) {
    err.line(`  ${command.padEnd(17)}`, { text: words === '' ? '' : `# ${words}`, format: 'dim' })
  }
}

const kinds = [
  { value: { yaml: false, flow: false }, label: 'a crew', note: 'agents and tasks in TypeScript' },
  {
    value: { yaml: true, flow: false },
    label: 'a crew in YAML',
    note: 'config/agents.yaml and config/tasks.yaml, as CrewAI has them',
  },
  { value: { yaml: false, flow: true }, label: 'a flow', note: 'loops, routes and lists in plain code' },
]

/** Returns undefined if the person leaves. Explains an invalid answer, and asks again. */
export async function askProject(
  given: Partial<ProjectOptions>,
  defaults: ProjectOptions,
  person: Person,
): Promise<ProjectOptions | undefined> {
  const name = given.name ?? (await askUntil('Name of the project', defaults.name, checkNewName, person))
  if (name === undefined) return undefined
  const model = given.model ?? (await askUntil('Model', defaults.model, checkModelName, person))
  if (model === undefined) return undefined
  const { yaml, flow } = given
  const isGiven = yaml !== undefined || flow !== undefined
  const kind = isGiven ? { yaml: yaml ?? false, flow: flow ?? false } : await pick('Begin with', kinds, person)
  return kind && { name, model, ...kind }
}

/** Throws a UsageError for a name that npm refuses, or whose folder is not empty. */
function checkNewName(name: string): void {
  checkName(name)
  checkFolder(name)
}

async function askUntil(
  question: string,
  fallback: string,
  check: (text: string) => void,
  person: Person,
): Promise<string | undefined> {
  for (;;) {
    const answer = await askLine(`${question} (${fallback}): `, person)
    if (answer === undefined) {
      // Enter would have printed a line feed; Esc and Ctrl-C print none
      person.output.write('\n')
      return undefined
    }
    const text = answer.trim() || fallback
    try {
      check(text)
      return text
    } catch (error) {
      person.output.write(`${wrap(messageOf(error), person.output.columns || 80, 2).join('\n')}\n`)
    }
  }
}
