// The disk alone: a thread that writes and syncs a page repeatedly during a measurement. A commit cannot be faster than
// its sync, so a stall that this thread has too comes from the disk.
import { closeSync, fdatasyncSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isMainThread, Worker, workerData } from 'node:worker_threads'

const pages = 100
const pageBytes = 8192
const pauseMs = 2

export interface DiskAlone extends AsyncDisposable {
  /** Milliseconds of the longest sync so far. */
  longest(): number
}

export function watchDisk(folder: string): DiskAlone {
  const longest = new Float64Array(new SharedArrayBuffer(Float64Array.BYTES_PER_ELEMENT))
  const worker = new Worker(new URL(import.meta.url), { workerData: { path: join(folder, 'disk.bin'), longest } })
  return {
    longest: () => longest[0] ?? 0,
    async [Symbol.asyncDispose]() {
      await worker.terminate()
    },
  }
}

async function syncForEver(path: string, longest: Float64Array): Promise<never> {
  const file = openSync(path, 'w')
  const page = Buffer.alloc(pageBytes)
  try {
    for (let written = 0; ; written++) {
      writeSync(file, page, 0, pageBytes, (written % pages) * pageBytes)
      const start = performance.now()
      fdatasyncSync(file)
      longest[0] = Math.max(longest[0] ?? 0, performance.now() - start)
      await pause(pauseMs)
    }
  } finally {
    closeSync(file)
  }
}

if (!isMainThread) {
  const { path, longest } = workerData as { path: string; longest: Float64Array }
  await syncForEver(path, longest)
}
