// The name of a new project, its package, its folder and its crew.
import { UsageError } from '../exit-codes.ts'

export const defaultName = 'my-crew'

/** npm refuses a package that depends on a package of its own name. */
const taken = ['reprise', 'zod', 'typescript', 'node_modules', 'favicon.ico']

/** A usage error unless npm accepts the name for a package. An accepted name stays in the working folder. */
export function checkName(name: string): string {
  const rule = 'a name has lower-case letters, digits and - . _, and begins with a letter or digit'
  if (taken.includes(name)) throw new UsageError(`a project cannot be named ${name}; choose another name`)
  if (/^[a-z0-9][a-z0-9._-]{0,99}$/.test(name)) return name
  throw new UsageError(`${JSON.stringify(name)} cannot be the name of a project: ${rule}${suggestion(name)}`)
}

function suggestion(name: string): string {
  const near = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 100)
  return near === '' || taken.includes(near) ? '' : `; for instance, ${near} is fine`
}
