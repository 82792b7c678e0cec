// Where storms take place: in memory, where there is such a folder. A killed process loses nothing of what it has written, synced or
// not, so nothing that a storm looks for is lost by that, and it is several times as fast.
import { accessSync, constants } from 'node:fs'
import { tmpdir } from 'node:os'

export function stormFolder(): string {
  try {
    accessSync('/dev/shm', constants.W_OK)
    return '/dev/shm'
  } catch {
    return tmpdir()
  }
}
