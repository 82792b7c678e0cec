// Whether runs can be kept and found: where the store is and who says so, whether it can be written, and what is in it.
// Nothing is made, and nothing is left behind.
import { defaultStoreUrl } from '../../crew/verbs/default-store.ts'
import { environment } from '../../environment.ts'
import { messageOf } from '../../errors.ts'
import { allRows } from '../../engine/history/all-rows.ts'
import { worksForAnother } from '../../runs/find.ts'
import { isAbandoned } from '../../runs/status.ts'
import { inspectStore } from '../../stores/inspect-store.ts'
import { openStore, storePath } from '../../stores/open-store.ts'
import type { Store } from '../../stores/store.ts'
import { plural } from '../terminal/entries-word.ts'
import type { Commands } from '../write-command.ts'
import { ok, warn, fail, type Check } from './check.ts'

const instead = 'name another with --store, REPRISE_STORE or the store of the crew'

export async function checkStore(
  given: string | undefined,
  crewStore: string | Store | undefined,
  commands: Commands,
): Promise<Check[]> {
  const { url, from } = whichStore(given, crewStore)
  const scheme = /^(sqlite|file):/i.exec(url)?.[1]?.toLowerCase() as 'sqlite' | 'file' | undefined
  try {
    const path = storePath(url)
    if (given === undefined && typeof crewStore === 'object' && !/^memory:/i.test(url) && path === undefined)
      return [ok('store', `${url}, ${from}: a store of its own, which is not looked into`)]
    if (path === undefined || scheme === undefined) {
      const store = await openStore(url)
      await store.close()
      return [warn('store', `${store.url}, ${from}: runs are gone when their process ends`, instead)]
    }
    const { exists, unwritable, bytes, layout, newest } = await inspectStore(scheme, path)
    const place = `${scheme}:${path}, ${from}`
    if (unwritable !== undefined)
      return [fail('store', `${place}: cannot be written (${unwritable})`, `make it writable, or ${instead}`)]
    if (!exists) return [ok('store', `${place}: not there yet, the first run makes it`)]
    const found = ok('store', `${place}: ${sizeWords(bytes)}, can be written`)
    return layout === newest
      ? [found, ok('layout', `${layout}, as this version writes it`), ...(await checkRuns(url, commands))]
      : [found, otherLayout(layout, newest)]
  } catch (error) {
    return [fail('store', `${url}, ${from}: ${messageOf(error)}`, instead)]
  }
}

function whichStore(given: string | undefined, crewStore: string | Store | undefined): { url: string; from: string } {
  if (given !== undefined) return { url: given, from: 'from --store' }
  if (crewStore !== undefined)
    return { url: typeof crewStore === 'string' ? crewStore : crewStore.url, from: 'from the crew' }
  const { store } = environment()
  if (store !== undefined) return { url: store, from: 'from REPRISE_STORE' }
  return { url: defaultStoreUrl(process.cwd()), from: 'the default' }
}

function otherLayout(layout: number | undefined, newest: number): Check {
  if (layout === undefined) return fail('layout', 'it is the database of another program, or empty', instead)
  if (layout > newest)
    return fail(
      'layout',
      `${layout}, of a newer version; this one writes ${newest}`,
      'update reprise, or use another store',
    )
  return warn(
    'layout',
    `${layout}, of an older version; this one writes ${newest}`,
    'keep a copy of it: the next command that opens it brings it up to date',
  )
}

async function checkRuns(url: string, commands: Commands): Promise<Check[]> {
  const store = await openStore(url)
  try {
    let count = 0
    let held = 0
    const abandoned: string[] = []
    for await (const row of allRows(store, {})) {
      count++
      if (row.status !== 'running' || worksForAnother(row)) continue
      if (await isAbandoned(store, row.run)) abandoned.push(row.run)
      else held++
    }
    const running = held === 0 ? '' : `, ${held} in a process that is alive`
    const runs = ok('runs', `${count}${running}`)
    const [first] = abandoned
    if (first === undefined) return [runs]
    const names = abandoned.slice(0, 5).join(', ')
    const more = abandoned.length > 5 ? ` and ${abandoned.length - 5} more` : ''
    const words = `${plural(abandoned.length, 'run')} whose process is gone: ${names}${more}`
    const next = (['resume', 'cancel'] as const).map((act) => commands.advice({ act, runId: first }))
    return [runs, warn('abandoned', words, next.join(', or '))]
  } finally {
    await store.close()
  }
}

/** `180 kB`, `4.2 MB` */
function sizeWords(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1_000)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
