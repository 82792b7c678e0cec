// Packages that only some users need, loaded when they are: who has not installed one is told what to do.
import { RepriseError } from './errors.ts'

/** What `load` imports. CREW_INVALID when the package is not installed. */
export async function optionalPackage<Module>(load: () => Promise<Module>, name: string, who: string): Promise<Module> {
  try {
    return await load()
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error
    throw new RepriseError('CREW_INVALID', `${who} needs a package: run npm install ${name}`, { cause: error })
  }
}
