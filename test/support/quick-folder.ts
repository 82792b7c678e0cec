// Where tests write files: in memory if there is enough, so that thousands of syncs need no disk. The tests lose
// nothing by that: what a killed process has written stays there, synced or not.
import { accessSync, constants, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'

const memory = '/dev/shm'
const neededBytes = 2 ** 30

/** Returns the folder in which to create temporary folders. */
export function quickFolder(): string {
  try {
    accessSync(memory, constants.W_OK)
    const { bavail, bsize } = statfsSync(memory)
    return bavail * bsize > neededBytes ? memory : tmpdir()
  } catch {
    return tmpdir()
  }
}
