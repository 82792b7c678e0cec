// The files among a run's inputs. Their bytes are stored as blobs of the run when it is created, and read from there
// for models and user code; the original files are not needed any more.
import { RepriseError } from '../../base/errors.ts'
import type { Blob, StoredFile } from '../../journal/entries.ts'
import { asFileReference, filesIn, type Files } from '../../journal/files.ts'
import type { Json } from '../../journal/json.ts'
import type { RunState } from '../../journal/state/state.ts'
import type { ChatMessage } from '../../journal/entries.ts'
import { checkStoredValue } from '../../journal/check/stored-values.ts'
import { describe } from '../../base/options.ts'
import type { Store } from '../../stores/store.ts'
import type { ReadFile } from '../../tools/tool.ts'

/** The blobs for a new run: files that were just read, or files of its parent. BLOB_MISSING. */
export async function fileBlobs(store: Store, values: readonly Json[], read: Files, parent?: string): Promise<Blob[]> {
  const blobs = new Map<string, Blob>()
  for (const file of values.flatMap(filesIn)) {
    if (blobs.has(file.hash)) continue
    const bytes = read.get(file.hash) ?? (await readFileBytes(store, parent, file))
    blobs.set(file.hash, { hash: file.hash, bytes })
  }
  return [...blobs.values()]
}

/** Reads the files in these messages. BLOB_MISSING. */
export async function readFiles(store: Store, run: string, messages: readonly ChatMessage[]): Promise<Files> {
  const files = new Map<string, Uint8Array>()
  for (const message of messages) {
    for (const file of message.role === 'user' ? (message.files ?? []) : []) {
      if (!files.has(file.hash)) files.set(file.hash, await readFileBytes(store, run, file))
    }
  }
  return files
}

/** `readFile` for user code. It only reads files among the inputs. */
export function fileReader(store: Store, { run, inputs }: Pick<RunState, 'run' | 'inputs'>): ReadFile {
  return async (wanted) => {
    const files = filesIn(inputs)
    const hash = asFileReference(wanted)?.hash
    const [file, other] = distinct(
      files.filter((one) => (hash === undefined ? one.name === wanted : one.hash === hash)),
    )
    if (file && !other) return readFileBytes(store, run, file)
    const refused = (words: string): RepriseError =>
      new RepriseError('INPUT_INVALID', `readFile was given ${describe(wanted)}, but ${words}`, { runId: run })
    if (other) throw refused(`run ${run} has several files of that name; give the file from the inputs instead`)
    if (files.length === 0) throw refused(`the inputs of run ${run} have no files`)
    throw refused(`run ${run} has no such file; it has ${files.map(({ name }) => name).join(', ')}`)
  }
}

/** The inputs may contain one file several times, under several names. */
function distinct(files: readonly StoredFile[]): StoredFile[] {
  return [...new Map(files.map((file) => [file.hash, file])).values()]
}

async function readFileBytes(store: Store, run: string | undefined, { hash, name }: StoredFile): Promise<Uint8Array> {
  const bytes = run === undefined ? undefined : await store.blob(run, hash)
  if (bytes) {
    checkStoredValue(bytes, hash, `the file ${name} (${hash}) of run ${run}`)
    return bytes
  }
  const words = `the file ${name} (${hash}) of run ${run} is not in ${store.url}; restore the store from a copy, or start a new run`
  throw new RepriseError('BLOB_MISSING', words, { runId: run })
}
