// Writes that survive a power cut: files are synced, and after a file is created or renamed, the folder is synced too.
import { randomUUID } from 'node:crypto'
import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf, RepriseError } from '../../base/errors.ts'

/** The valid part of a file to append to. */
export interface Tail {
  /** Bytes after it are the rest of an unfinished write. */
  readonly goodLength: number
  /** False if an editor left the last line without a newline. */
  readonly endsLine: boolean
  /** Whether the valid part is known to be on disk. A write of another process may not be. */
  readonly synced: boolean
}

/** Identifies a version of a file: if the stamp has changed, the file must be read again. */
export interface FileStamp {
  readonly size: number
  readonly modified: bigint
  readonly inode: bigint
}

export async function readStamp(handle: FileHandle): Promise<FileStamp> {
  const { size, mtimeNs, ino } = await handle.stat({ bigint: true })
  return { size: Number(size), modified: mtimeNs, inode: ino }
}

/**
 * Appends `data` in one write and syncs it. Everything before is synced first, so after a power cut only the last write
 * can be unfinished. Rejects with STORE_FAILED if nothing was appended, and with OUTCOME_UNKNOWN if that is unclear.
 */
export async function appendDurably(path: string, tail: Tail, data: Uint8Array): Promise<FileStamp> {
  const handle = await open(path, 'a', 0o600)
  try {
    if (!tail.synced) await syncTail(handle, path, tail)
    try {
      await writeWhole(handle, data)
      await handle.datasync()
    } catch (error) {
      await undoAppend(handle, path, tail, error)
    }
    return await readStamp(handle)
  } finally {
    await handle.close()
  }
}

/** Cuts off an unfinished write, ends the last line, and syncs file and folder. */
async function syncTail(handle: FileHandle, path: string, { goodLength, endsLine }: Tail): Promise<void> {
  const { size } = await handle.stat()
  if (size > goodLength) await handle.truncate(goodLength)
  if (!endsLine) await writeWhole(handle, Buffer.from('\n'))
  await handle.datasync()
  // the process that created the file may have been killed before it synced the folder
  await syncFolder(dirname(path))
}

async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  const { bytesWritten } = await handle.write(bytes)
  if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes were written`)
}

/** Like `writeSynced`, and syncs the folder. */
export async function writeDurably(...file: Parameters<typeof writeSynced>): Promise<void> {
  await writeSynced(...file)
  await syncFolder(dirname(file[0]))
}

/** Writes a temporary file and renames it, so that `path` never holds half a file. The caller must sync the folder. */
export async function writeSynced(
  path: string,
  data: Uint8Array | AsyncIterable<string>,
  mode: number = 0o600,
  temporary: string = `${path}.${randomUUID()}.tmp`,
): Promise<void> {
  try {
    const handle = await open(temporary, 'wx', mode)
    try {
      await handle.writeFile(data)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

export async function syncFolder(folder: string): Promise<void> {
  // Windows cannot open folders, and its file systems persist names without a sync
  if (process.platform === 'win32') return
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === 'ENOENT'
}

/** Turns an error of the file system into an error of the port. */
export function fileError(error: unknown, path: string): RepriseError {
  if (RepriseError.isInstance(error)) return error
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'EISDIR') return notFileError(path, error)
  return new RepriseError('STORE_FAILED', `${path} could not be read or written: ${messageOf(error)}`, { cause: error })
}

function notFileError(path: string, cause: unknown): RepriseError {
  const words = `a folder in ${path} has the name of a file of a run: move it away, or put a copy of the file in its place`
  return new RepriseError('JOURNAL_DAMAGED', words, { cause })
}

/** Rejects with STORE_FAILED after cutting off the appended bytes, or with OUTCOME_UNKNOWN if that fails. */
async function undoAppend(handle: FileHandle, path: string, tail: Tail, error: unknown): Promise<never> {
  try {
    await handle.truncate(tail.goodLength)
    await handle.datasync()
  } catch (cause) {
    throw new RepriseError(
      'OUTCOME_UNKNOWN',
      `${path} failed during a write (${messageOf(error)}): read its last lines to see whether the change was written`,
      { cause },
    )
  }
  throw fileError(error, path)
}
