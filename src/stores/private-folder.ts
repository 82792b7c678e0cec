// Creates the folder of a store. Only its owner may read it, since journals contain what users and models wrote. If it
// is the project's own `.reprise`, git ignores it.
import { closeSync, openSync } from 'node:fs'
import { access, constants, mkdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf, RepriseError } from '../base/errors.ts'

/** Creates the folder and its parents if missing. Rejects with STORE_INVALID if it cannot be created or written. */
export async function makePrivateFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder)
    await access(folder, constants.W_OK | constants.X_OK)
    for (const path of [folder, dirname(folder)]) {
      if (basename(path) === '.reprise') await ignoreInGit(path)
    }
  } catch (error) {
    throw new RepriseError(
      'STORE_INVALID',
      `the store's folder ${folder} cannot be created or written (${messageOf(error)}): set REPRISE_STORE or pass \`store\` to use another one`,
      { cause: error },
    )
  }
}

/** Doesn't use mkdir's `recursive`, which never returns if a parent, such as /proc, accepts no new folders. */
async function makeFolders(folder: string): Promise<void> {
  if (await isFolder(folder)) return
  const create = (): Promise<unknown> => mkdir(folder, { mode: 0o700 })
  try {
    await create().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' || dirname(folder) === folder) throw error
      await makeFolders(dirname(folder))
      await create()
    })
  } catch (error) {
    // another process created it first
    if (!(await isFolder(folder))) throw error
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found?.isDirectory() ?? false
}

async function ignoreInGit(folder: string): Promise<void> {
  try {
    await writeFile(join(folder, '.gitignore'), '*\n', { flag: 'wx', mode: 0o600 })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/**
 * Creates an empty database file that only its owner can read, unless one exists; SQLite gives its -wal and -shm files
 * the same mode. An existing file isn't even opened: closing it would drop the locks that this process has on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
