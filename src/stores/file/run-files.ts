// The files of a folder by run. Remembers the state of each journal, so that an unchanged file isn't read again.
// Messages stay in the inbox file of their run forever, one per line, oldest first. Which of them were taken is in the
// lines of the journal, so a person who removes such a line puts its messages back into the inbox.
import { mkdir, readdir, readFile, rename, rm, stat, open } from 'node:fs/promises'
import { join } from 'node:path'
import { rootRunId } from '../../journal/paths.ts'
import type { Blob, Message, RunId, RunRow } from '../store.ts'
import { isMissing, syncFolder, writeSynced, appendDurably } from './durable-files.ts'
import { writeNote, readNote } from './end-note.ts'
import {
  blobsName,
  decodeName,
  encodeName,
  inboxName,
  journalName,
  newJournalName,
  notePath,
  runPart,
} from './file-names.ts'
import { completeRow, emptyJournal, loadJournal, type JournalState } from './journal-file.ts'
import { RepriseError } from '../../base/errors.ts'
import { hashBytes } from '../../journal/hash.ts'
import { scanLines, type ScanResult } from './json-lines.ts'

export interface RunFiles {
  /** Undefined if the file is missing or empty. An unreadable file is a damaged state. */
  load(run: RunId): Promise<JournalState | undefined>
  /** Removes what is left of a former run of this id. Appends to the returned state go to a temporary file. */
  startOver(run: RunId): Promise<JournalState>
  /** Renames the temporary file to its final name, so that a crash never leaves half a first batch. */
  keep(run: RunId, state: JournalState): Promise<void>
  /** The ids of all journals, damaged ones too, from their names or, if these are cut, from their content. */
  ids(): Promise<RunId[]>
  /** Writes the note on the last line. Call it after an append. */
  note(state: JournalState): Promise<void>
  /** All journals with a complete row, or those of one run tree. */
  all(root?: RunId): Promise<{ readonly row: RunRow; readonly state: JournalState }[]>
  blob(run: RunId, hash: string): Promise<Uint8Array | undefined>
  addBlobs(run: RunId, blobs: readonly Blob[]): Promise<void>
  messages(run: RunId): Promise<Message[]>
  post(run: RunId, message: Message): Promise<void>
  remove(run: RunId): Promise<void>
}

export function openRunFiles(folder: string): RunFiles {
  const remembered = new Map<string, JournalState>()

  async function loadNamed(name: string, run: RunId | undefined): Promise<JournalState | undefined> {
    const state = await loadJournal(join(folder, name), run, remembered.get(name))
    if (state === undefined || (state.seqs.length === 0 && state.damage === undefined)) {
      remembered.delete(name)
      return undefined
    }
    remembered.set(name, state)
    return state
  }

  async function removeSideFiles(run: RunId): Promise<void> {
    await rm(join(folder, newJournalName(run)), { force: true })
    await rm(notePath(join(folder, journalName(run))), { force: true })
    await rm(join(folder, inboxName(run)), { force: true })
    await rm(notePath(join(folder, inboxName(run))), { force: true })
    await rm(join(folder, blobsName(run)), { recursive: true, force: true })
  }

  async function note({ path, noted }: JournalState): Promise<void> {
    if (noted) await writeNote(notePath(path), noted)
  }

  return {
    load: (run) => loadNamed(journalName(run), run),

    async startOver(run) {
      await removeSideFiles(run)
      return emptyJournal(join(folder, newJournalName(run)))
    },

    async keep(run, state) {
      const path = join(folder, journalName(run))
      await rename(state.path, path)
      await syncFolder(folder)
      const kept = { ...state, path }
      remembered.set(journalName(run), kept)
      await note(kept)
    },
    note,

    async ids() {
      const ids: RunId[] = []
      for (const file of await readdir(folder)) {
        const name = runPart(file)
        if (name === undefined) continue
        const id = decodeName(name) ?? (await loadNamed(file, undefined).catch(ignoreFolder))?.row.run
        if (id !== undefined) ids.push(id)
      }
      return ids
    },

    async all(root) {
      const journals = []
      for (const file of await readdir(folder)) {
        const name = runPart(file)
        if (name === undefined) continue
        const run = decodeName(name)
        if (root !== undefined && run !== undefined && rootRunId(run) !== root) continue
        const state = await loadNamed(file, run).catch(ignoreFolder)
        const row = state && completeRow(state)
        if (state !== undefined && row !== undefined) journals.push({ row, state })
      }
      return journals
    },

    async blob(run, hash) {
      try {
        return await readFile(join(folder, blobsName(run), encodeName(hash)))
      } catch (error) {
        if (isMissing(error)) return undefined
        throw error
      }
    },

    async addBlobs(run, blobs) {
      if (blobs.length === 0) return
      const blobFolder = join(folder, blobsName(run))
      if ((await mkdir(blobFolder, { recursive: true, mode: 0o700 })) !== undefined) await syncFolder(folder)
      for (const { hash, bytes } of blobs) {
        const path = join(blobFolder, encodeName(hash))
        if (!(await pathExists(path))) await writeSynced(path, bytes)
      }
      // for existing blobs too: the process that wrote them may have been killed before its sync
      await syncFolder(blobFolder)
    },

    messages: (run) => loadInbox(join(folder, inboxName(run))),
    post: (run, message) => appendMessage(join(folder, inboxName(run)), message),

    async remove(run) {
      // the journal first: without it the run doesn't exist, and a new run of this id removes what a crash leaves
      await rm(join(folder, journalName(run)), { force: true })
      remembered.delete(journalName(run))
      await syncFolder(folder)
      await removeSideFiles(run)
    },
  }
}

/** A folder with the name of a journal must not hide other runs. */
function ignoreFolder(error: unknown): undefined {
  if ((error as NodeJS.ErrnoException).code !== 'EISDIR') throw error
}

async function pathExists(path: string): Promise<boolean> {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
}

/** Rejects with JOURNAL_DAMAGED, naming the line. A missing file has no messages. */
async function loadInbox(path: string): Promise<Message[]> {
  return readMessages(path, await scanInbox(path))
}

/** The caller holds the lock and has checked that the id is new. */
async function appendMessage(path: string, message: Message): Promise<void> {
  const scanned = await scanInbox(path)
  readMessages(path, scanned)
  const { id, at, body } = message
  const line = Buffer.from(`${JSON.stringify({ id, at, body })}\n`)
  await appendDurably(path, { ...scanned, synced: false }, line)
  await writeNote(notePath(path), { seq: scanned.lines.length + 1, hash: hashBytes(line) })
}

async function scanInbox(path: string): Promise<ScanResult<Message>> {
  const noted = (await readNote(notePath(path)))?.seq ?? 0
  return scanLines<Message>(await readBytes(path), {
    decode: decodeMessage,
    hasMore: () => false,
    // each message is one write
    endsWriteAfter: () => false,
    hasSyncedAfter: (good) => noted > good.length,
  })
}

async function readBytes(path: string): Promise<Uint8Array> {
  let handle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if (isMissing(error)) return new Uint8Array()
    throw error
  }
  try {
    return await handle.readFile()
  } finally {
    await handle.close()
  }
}

function readMessages(path: string, scanned: ScanResult<Message>): Message[] {
  if (scanned.damagedLine === undefined) return scanned.lines.map((line) => line.value)
  throw new RepriseError(
    'JOURNAL_DAMAGED',
    `line ${scanned.damagedLine} of ${path} isn't a message: fix or remove that line`,
  )
}

function decodeMessage(line: Uint8Array): Message | undefined {
  try {
    const { id, at, body } = JSON.parse(Buffer.from(line).toString()) as Record<string, unknown>
    return typeof id === 'string' && typeof at === 'string' && typeof body === 'string' ? { id, at, body } : undefined
  } catch {
    return undefined
  }
}
