// Writes a project all or nothing: into a temporary folder, which is renamed when all files are written.
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { messageOf } from '../../base/errors.ts'
import { UsageError } from '../exit-codes.ts'
import type { ProjectFile } from './project-files.ts'

/** A usage error unless the folder is empty or does not exist. */
export function checkFolder(folder: string): void {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  if (found === undefined) return
  if (!found.isDirectory()) throw new UsageError(`${folder} exists and isn't a folder; choose another name`)
  const names = readdirSync(folder).toSorted()
  if (names.length === 0) return
  const shown = [...names.slice(0, 5), ...(names.length > 5 ? [`${names.length - 5} more`] : [])]
  throw new UsageError(
    `the folder ${folder} is not empty: it has ${shown.join(', ')}; choose another name, or empty it first`,
  )
}

/** A usage error if the folder cannot be created; nothing is left then. */
export function writeProject(folder: string, files: readonly ProjectFile[]): void {
  checkFolder(folder)
  let beside: string | undefined
  try {
    beside = mkdtempSync(join(dirname(folder), '.reprise-create-'))
    // in a subfolder, since mkdtemp creates a folder that only this user can read
    const draft = join(beside, 'project')
    for (const { path, text } of files) {
      mkdirSync(dirname(join(draft, path)), { recursive: true })
      writeFileSync(join(draft, path), text)
    }
    // Windows cannot rename onto an existing folder; rmdir leaves a folder that has files by now
    if (lstatSync(folder, { throwIfNoEntry: false })) rmdirSync(folder)
    renameSync(draft, folder)
  } catch (error) {
    throw new UsageError(`${folder} cannot be made: ${messageOf(error)}; nothing was left there, try it somewhere else`)
  } finally {
    if (beside !== undefined) rmSync(beside, { recursive: true, force: true })
  }
}
