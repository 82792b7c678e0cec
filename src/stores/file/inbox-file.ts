// The messages to a run, one per line, oldest first. They stay in the file forever. The journal's lines record which
// were taken, so removing such a line puts the message back.
import { open } from 'node:fs/promises'
import { RepriseError } from '../../base/errors.ts'
import { hashBytes } from '../../journal/hash.ts'
import type { Message } from '../store.ts'
import { appendDurably, isMissing } from './durable-files.ts'
import { readNote, writeNote } from './end-note.ts'
import { notePath } from './file-names.ts'
import { scanLines, type ScanResult } from './json-lines.ts'

/** JOURNAL_DAMAGED, naming the line. A missing file has no messages. */
export async function loadInbox(path: string): Promise<Message[]> {
  return readMessages(path, await scanInbox(path))
}

/** The caller holds the lock and has checked that the id is new. */
export async function appendMessage(path: string, message: Message): Promise<void> {
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
