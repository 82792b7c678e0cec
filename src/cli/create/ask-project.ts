// Asks for what the options of `reprise create` leave out. Enter takes the default.
import { messageOf } from '../../base/errors.ts'
import { askLine, type Person } from '../input/ask-line.ts'
import { pick } from '../input/pick.ts'
import { wrap } from '../../text/wrap.ts'
import { checkModelName, type ProjectOptions } from './project-files.ts'
import { checkName } from './project-name.ts'
import { checkFolder } from './write-project.ts'

const languages = [
  { value: false, label: 'TypeScript' },
  { value: true, label: 'YAML', note: 'config/agents.yaml and config/tasks.yaml, as CrewAI has them' },
]

/** Undefined if the person left. An unusable answer is refused with the reason, and asked for again. */
export async function askProject(
  given: Partial<ProjectOptions>,
  defaults: ProjectOptions,
  person: Person,
): Promise<ProjectOptions | undefined> {
  const name = given.name ?? (await askUntil('Name of the project', defaults.name, checkNewName, person))
  if (name === undefined) return undefined
  const model = given.model ?? (await askUntil('Model', defaults.model, checkModelName, person))
  if (model === undefined) return undefined
  const yaml = given.yaml ?? (await pick('Agents and tasks in', languages, person))
  return yaml === undefined ? undefined : { name, model, yaml }
}

/** A usage error for a name that npm does not accept, or that is taken in this folder. */
export function checkNewName(name: string): void {
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
      // the key that ended the input did not end the line
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
