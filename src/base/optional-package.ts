// Packages that only some users need, loaded when needed: without one, the error says what to install.
import { RepriseError } from './errors.ts'

/** Whether it can be imported from here. Nothing is loaded. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

/**
 * Pass it to `catch` directly on the import of such a package, and nowhere else: when the package is not installed,
 * bundlers leave out an import that has its own `catch`, and refuse one that doesn't. CREW_INVALID.
 */
export function whenMissing(name: string, who: string): (error: unknown) => never {
  return (error) => {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new RepriseError('CREW_INVALID', `${who} needs a package: run npm install ${name}`, { cause: error })
  }
}
