// Makes the folder that a store lives in: readable by its owner only, since journals hold what users and models said,
// and out of version control when it is the project's own `.reprise`.
import { closeSync, openSync } from 'node:fs'
import { access, constants, mkdir, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { messageOf, RepriseError } from '../base/errors.ts'

/** STORE_INVALID, naming the folder, when it cannot be made or written. */
export async function makePrivateFolder(folder: string): Promise<void> {
  try {
    await makeFolders(folder)
    await access(folder, constants.W_OK | constants.X_OK)
    for (const place of [folder, dirname(folder)]) {
      if (basename(place) === '.reprise') await ignoreInGit(place)
    }
  } catch (error) {
    throw new RepriseError(
      'STORE_INVALID',
      `the folder ${folder} of the store cannot be made or written (${messageOf(error)}): set REPRISE_STORE or pass \`store\` to use another place`,
      { cause: error },
    )
  }
}

/**
 * Node's own way to make several, `recursive`, never ends where a folder is there and takes no other, as below /proc.
 */
async function makeFolders(folder: string): Promise<void> {
  if (await isFolder(folder)) return
  const make = (): Promise<unknown> => mkdir(folder, { mode: 0o700 })
  try {
    await make().catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT' || dirname(folder) === folder) throw error
      await makeFolders(dirname(folder))
      await make()
    })
  } catch (error) {
    // another process was quicker
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
 * Makes an empty database file that only its owner can read, unless there is one; SQLite gives its -wal and -shm files
 * the same mode. A file that is there is not even opened: closing it would drop the locks that this process has on it.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}
