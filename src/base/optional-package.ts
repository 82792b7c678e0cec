// Optional packages, which are loaded when needed. If one is missing, the error says what to install.
import { RepriseError } from './errors.ts'

/** Whether the package can be imported. Nothing is loaded. */
export function isInstalled(name: string): boolean {
  try {
    import.meta.resolve(name)
    return true
  } catch {
    return false
  }
}

/**
 * Pass it to `catch` directly on the `import()` of an optional package: if the package is not installed, bundlers skip
 * an import that has its own `catch`, and refuse others. CREW_INVALID.
 */
export function whenMissing(name: string, who: string): (error: unknown) => never {
  return (error) => {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new RepriseError('CREW_INVALID', `${who} needs a package: run npm install ${name}`, { cause: error })
  }
}
