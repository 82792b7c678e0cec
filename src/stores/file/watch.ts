// Wakes watchers when another process or an editor changes the folder.
import { watch, type FSWatcher } from 'node:fs'
import { createWatchers, type Watchers } from '../watchers.ts'
import { isSideFile, isInbox, decodeRunFile } from './file-names.ts'

/** Where the system cannot watch a folder, all watchers are woken at this interval. */
const fallbackMs = 1000

export function watchFolder(folder: string): Watchers {
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
        // Not persistent: a watcher alone keeps no process alive.
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
