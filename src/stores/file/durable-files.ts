// Writing so that it survives a power cut: the bytes are synced, and so is the folder when a name in it is new.
import { randomUUID } from 'node:crypto'
import { open, rename, rm, type FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { messageOf, RepriseError } from '../../base/errors.ts'

/** The good part of a file that is appended to. */
export interface Tail {
  /** Bytes after it are what a crash left of an unfinished write. */
  readonly goodLength: number
  /** False when a person's editor left the last line without its newline. */
  readonly endsLine: boolean
  /** Whether the good part is known to be on disk. What another process wrote may not be. */
  readonly synced: boolean
}

/** When a file was last seen: another state of it means that it has to be read again. */
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
 * Adds `data` by one write and syncs it. Everything before it is on disk by then, so whatever a power cut leaves of the
 * file, only the last write is unfinished. STORE_FAILED: nothing of it is there.
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

/** Cuts off what a crash left of an unfinished write, and ends the last line. */
async function syncTail(handle: FileHandle, path: string, { goodLength, endsLine }: Tail): Promise<void> {
  const { size } = await handle.stat()
  if (size > goodLength) await handle.truncate(goodLength)
  if (!endsLine) await writeWhole(handle, Buffer.from('\n'))
  await handle.datasync()
  // a process that was killed may not have come to that
  await syncFolder(dirname(path))
}

async function writeWhole(handle: FileHandle, bytes: Uint8Array): Promise<void> {
  const { bytesWritten } = await handle.write(bytes)
  if (bytesWritten < bytes.length) throw new Error(`only ${bytesWritten} of ${bytes.length} bytes were written`)
}

export async function writeDurably(...file: Parameters<typeof writeSynced>): Promise<void> {
  await writeSynced(...file)
  await syncFolder(dirname(file[0]))
}

/**
 * Under a temporary name first, so that no half-written file ever has the real one. A power cut may take the name away
 * until the folder is synced.
 */
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
  // Windows opens no folders; its file systems keep names without being asked.
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

/** File-system errors as what the port promises. */
export function fileError(error: unknown, path: string): RepriseError {
  if (RepriseError.isInstance(error)) return error
  if ((error as NodeJS.ErrnoException | undefined)?.code === 'EISDIR') return notFileError(path, error)
  return new RepriseError('STORE_FAILED', `${path} could not be read or written: ${messageOf(error)}`, { cause: error })
}

/** A folder has the name of a journal, or of what belongs to one. */
function notFileError(path: string, cause: unknown): RepriseError {
  const words = `a folder below ${path} has the name of a file of a run: move it away, or put a copy of the file in its place`
  return new RepriseError('JOURNAL_DAMAGED', words, { cause })
}

async function undoAppend(handle: FileHandle, path: string, tail: Tail, error: unknown): Promise<never> {
  try {
    await handle.truncate(tail.goodLength)
    await handle.datasync()
  } catch (cause) {
    throw new RepriseError(
      'OUTCOME_UNKNOWN',
      `${path} failed while being written (${messageOf(error)}): read its last lines to see whether the change is there`,
      { cause },
    )
  }
  throw fileError(error, path)
}
