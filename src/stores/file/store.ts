// A folder with one JSON Lines file per run, for people who read and edit journals by hand. Listing row, due time and
// outputs are folded from the lines, so a run continues even if a person has removed some. Writes hold the lock in
// leases.db. Reads need no lock: files only grow, and an unfinished write at the end of a file is ignored.
import { resolve } from 'node:path'
import { makePrivateFolder } from '../private-folder.ts'
import { driverStore, type Driver } from '../rules/driver.ts'
import type { Store } from '../store.ts'
import * as appending from './append.ts'
import * as claiming from './claim.ts'
import { openConnection, type Connection } from './connection.ts'
import * as creating from './create.ts'
import * as inbox from './inbox.ts'
import * as journal from './journal.ts'
import * as leases from './leases.ts'
import * as listing from './listing.ts'
import { watch, type FSWatcher } from 'node:fs'
import { createWatchers, type Watchers } from '../watchers.ts'
import { isSideFile, isInbox, decodeRunFile } from './file-names.ts'

const driver: Driver<Connection> = {
  ...appending,
  ...claiming,
  ...creating,
  ...inbox,
  ...journal,
  ...leases,
  ...listing,
  findTime: async ({ now }) => now(),
}

export interface FileStoreOptions {
  /** The clock by which leases expire. Default: Date.now. */
  readonly now?: () => number
}

/**
 * Opens the folder, creating it if missing. Rejects with STORE_INVALID if it cannot be opened or written, and with
 * STORE_NEWER if only newer code may write it.
 */
export async function fileStore(path: string, options: FileStoreOptions = {}): Promise<Store> {
  const folder = resolve(path)
  await makePrivateFolder(folder)
  const connection = await openConnection(folder, options.now ?? Date.now)
  return driverStore(driver, connection, watchFolder(folder), () => connection.close())
}

/** If the system cannot watch the folder, all watchers are woken at this interval. */
const fallbackMs = 1000

/** Wakes watchers when another process or an editor changes the folder. */
function watchFolder(folder: string): Watchers {
  let watcher: FSWatcher | undefined
  let timer: NodeJS.Timeout | undefined
  function fallBack(): void {
    watcher?.close()
    watcher = undefined
    timer ??= setInterval(() => watchers.changed(), fallbackMs).unref()
  }
  const watchers = createWatchers({
    start() {
      try {
        // a watcher alone must not keep the process alive
        watcher = watch(folder, { persistent: false }, (_event, file) => {
          const run = file === null ? undefined : decodeRunFile(file)
          if (file === null || (run === undefined && !isSideFile(file))) watchers.changed()
          else if (run !== undefined && isInbox(file)) watchers.posted(run)
          else if (run !== undefined) watchers.changed(run)
        })
        watcher.on('error', fallBack)
      } catch {
        fallBack()
      }
    },
    stop() {
      watcher?.close()
      clearInterval(timer)
      watcher = undefined
      timer = undefined
    },
  })
  return watchers
}
