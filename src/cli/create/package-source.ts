// Where npm got this package from, for the package.json of a new project. A version that was installed from a tarball
// or a repository may not be on npm; the new project then installs it from the same place.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'

export interface PackageSource {
  /** The version or address in `dependencies`. */
  readonly spec: string
  /** The folder of the installed package, if npm may not have this version: it can be installed from there. */
  readonly folder?: string
}

/** `root`: the folder of this package; `project`: the folder of the new project. */
export function packageSource(root: string, version: string, project: string): PackageSource {
  const modules = dirname(root)
  const spec = `^${version}`
  // a checkout of this package
  if (basename(modules) !== 'node_modules') return { spec }
  const resolved = resolvedIn(join(modules, '.package-lock.json'))
  if (resolved === undefined) return { spec, folder: root }
  if (!resolved.startsWith('file:')) return { spec: ofRegistry(resolved) ? spec : resolved }
  const tarball = resolve(dirname(modules), resolved.slice('file:'.length))
  if (!existsSync(tarball)) return { spec, folder: root }
  return { spec: `file:${relative(resolve(project), tarball).replaceAll(sep, '/')}` }
}

/** npm writes this lockfile into every node_modules but the global one. */
function resolvedIn(lockfile: string): string | undefined {
  try {
    const { packages } = JSON.parse(readFileSync(lockfile, 'utf8')) as Lockfile
    const resolved = packages?.['node_modules/reprise']?.resolved
    return typeof resolved === 'string' ? resolved : undefined
  } catch {
    return undefined
  }
}

interface Lockfile {
  readonly packages?: { readonly [path: string]: { readonly resolved?: unknown } }
}

/** Registries serve the tarballs of a package below its name; any other address was given by a person. */
function ofRegistry(resolved: string): boolean {
  return /^https?:\/\/.+\/reprise\/-\/[^/]+\.tgz$/.test(resolved)
}
