// Optional packages, which are loaded when needed. If one is missing, the error tells what to install.
import { RepriseError } from './errors.ts'

/** Whether a package can be imported. Doesn't load it. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

/**
 * Returns a handler for the failed `import()` of an optional package. It throws CREW_INVALID if the package is missing.
 * Write `.catch` directly after the `import()`: bundlers accept a missing package only in this form.
 */
export function whenMissing(name: string, who: string): (error: unknown) => never {
  return (error) => {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new RepriseError('CREW_INVALID', `${who} needs a package: run npm install ${name}`, { cause: error })
  }
}
