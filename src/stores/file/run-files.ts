// The files of a folder by run, and what is remembered of each so that an unchanged file is not read again.
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Blob, Message, RunId, RunRow } from '../store.ts'
import { isMissing, syncFolder, writeSynced } from './durable-files.ts'
import { writeNote } from './end-note.ts'
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
import { appendMessage, loadInbox } from './inbox-file.ts'
import { completeRow, emptyJournal, loadJournal, type JournalState } from './journal.ts'

export interface RunFiles {
  /**
   * Undefined when the run is not there: no file, or an empty one. A file of which nothing can be read is there, and
   * damaged.
   */
  load(run: RunId): Promise<JournalState | undefined>
  /**
   * Takes away what a run of this id left behind; what is appended to the state makes a new file under a temporary
   * name.
   */
  startOver(run: RunId): Promise<JournalState>
  /** Gives a file that startOver began its name, so that a crash before never leaves half a first batch there. */
  keep(run: RunId, state: JournalState): Promise<void>
  /** Of every journal that says its id, by its name or inside, also of a damaged one. */
  ids(): Promise<RunId[]>
  /** Notes the last line of a state that was appended to. */
  note(state: JournalState): Promise<void>
  all(): Promise<{ readonly row: RunRow; readonly state: JournalState }[]>
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

  async function removeExtras(run: RunId): Promise<void> {
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
      await removeExtras(run)
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
      const found: RunId[] = []
      for (const file of await readdir(folder)) {
        const name = runPart(file)
        if (name === undefined) continue
        const id = decodeName(name) ?? (await loadNamed(file, undefined).catch(ignoreFolder))?.row.run
        if (id !== undefined) found.push(id)
      }
      return found
    },

    async all() {
      const found = []
      for (const file of await readdir(folder)) {
        const name = runPart(file)
        if (name === undefined) continue
        const state = await loadNamed(file, decodeName(name)).catch(ignoreFolder)
        const row = state && completeRow(state)
        if (state !== undefined && row !== undefined) found.push({ row, state })
      }
      return found
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
      const place = join(folder, blobsName(run))
      if ((await mkdir(place, { recursive: true, mode: 0o700 })) !== undefined) await syncFolder(folder)
      for (const { hash, bytes } of blobs) {
        const path = join(place, encodeName(hash))
        if (!(await pathExists(path))) await writeSynced(path, bytes)
      }
      // also for those that are there: the process that wrote them may have been killed before it came to that
      await syncFolder(place)
    },

    messages: (run) => loadInbox(join(folder, inboxName(run))),
    post: (run, message) => appendMessage(join(folder, inboxName(run)), message),

    async remove(run) {
      // The journal first: without it the run is gone, and what a crash leaves of the rest is cleared when the id comes
      // again.
      await rm(join(folder, journalName(run)), { force: true })
      remembered.delete(journalName(run))
      await syncFolder(folder)
      await removeExtras(run)
    },
  }
}

/** A folder that has the name of a journal hides no other run. */
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
