// Where npm got this package from, for the package.json of a new project: a version that is not on npm, because it was
// installed from a tarball or a repository, is found there by the new project too.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'

export interface PackageSource {
  /** As it stands among the dependencies. */
  readonly spec: string
  /** Where nobody knows whether npm has this version: the installed package, which can be installed from its folder. */
  readonly folder?: string
}

/** `root`: the folder of this package; `project`: that of the new one. */
export function packageSource(root: string, version: string, project: string): PackageSource {
  const modules = dirname(root)
  const spec = `^${version}`
  // a checkout, in which somebody works on this package
  if (basename(modules) !== 'node_modules') return { spec }
  const resolved = resolvedIn(join(modules, '.package-lock.json'))
  if (resolved === undefined) return { spec, folder: root }
  if (!resolved.startsWith('file:')) return { spec: ofRegistry(resolved) ? spec : resolved }
  const tarball = resolve(dirname(modules), resolved.slice('file:'.length))
  if (!existsSync(tarball)) return { spec, folder: root }
  return { spec: `file:${relative(resolve(project), tarball).replaceAll(sep, '/')}` }
}

/** What npm writes down in every folder of packages but the global one. */
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

/** Registries have the tarballs of a package below its name; any other address is one that somebody gave. */
function ofRegistry(resolved: string): boolean {
  return /^https?:\/\/.+\/reprise\/-\/[^/]+\.tgz$/.test(resolved)
}
