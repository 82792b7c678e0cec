import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { quickFolder } from '../support/quick-folder.ts'

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string
}

/** A folder that is gone when its `await using` ends. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(quickFolder(), 'reprise-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
