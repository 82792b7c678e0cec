// Where tests put what they write: into memory, where there is room for it. A killed process loses nothing of what it
// has written, synced or not, so nothing that a test looks for is lost by that; and thousands of syncs do not wait for
// a disk.
import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const memory = '/dev/shm'
const room = 2 ** 30

/** The folder in which to make one. */
export function quickFolder(): string {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > room ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}
