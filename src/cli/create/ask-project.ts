// What `reprise create` asks a person: what no option has said, each with the answer that Enter gives.
import { messageOf } from '../../base/errors.ts'
import { askLine, type Person } from '../input/ask-line.ts'
import { pick } from '../input/pick.ts'
import { wrap } from '../../text/wrap.ts'
import { checkModelName, type ProjectOptions } from './project-files.ts'
import { checkName } from './project-name.ts'
import { checkPlace } from './write-project.ts'

const languages = [
  { value: false, label: 'TypeScript' },
  { value: true, label: 'YAML', note: 'config/agents.yaml and config/tasks.yaml, as CrewAI has them' },
]

/** Undefined when the person left. What cannot be used is asked again, with the reason. */
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

/** A usage error for a name that npm does not take, or that something else has here. */
export function checkNewName(name: string): void {
  checkName(name)
  checkPlace(name)
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
      // the key that closed it did not end the line
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
