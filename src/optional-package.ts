// Packages that only some users need, loaded when they are: who has not installed one is told what to do.
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
 * What to give to `catch` of the import of such a package. There and nowhere else: bundlers leave an import out that has
 * a `catch` of its own, and refuse one that has not, when the package is not installed. CREW_INVALID.
 */
export function whenMissing(name: string, who: string): (error: unknown) => never {
  return (error) => {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new RepriseError('CREW_INVALID', `${who} needs a package: run npm install ${name}`, { cause: error })
  }
}
