// Checks where runs are kept: which setting names the store, whether it can be written, the state of its runs, and
// whether the settings of a server lose data. Nothing is created.
import type { Crew } from '../../crew/crew.ts'
import type { CrewDescription } from '../../crew/define/describe.ts'
import { defaultStoreUrl } from '../../crew/open-crew.ts'
import { environment } from '../../base/environment.ts'
import { messageOf } from '../../base/errors.ts'
import { allRows } from '../../read/all-rows.ts'
import { crewLanes } from '../../read/lanes.ts'
import { isGivenUp, readSummary, moveOf } from '../../read/row-summary.ts'
import { isEnded } from '../../journal/state/state.ts'
import { isChildRun } from '../../runs/find.ts'
import { isAbandoned } from '../../runs/status.ts'
import { inspectStore } from '../../stores/inspect-store.ts'
import { openStore, storePath } from '../../stores/open-store.ts'
import { isStuck } from '../../stores/rules/ready.ts'
import type { RunRow, Store } from '../../stores/store.ts'
import type { RunCheck } from '../../crew/verbs/check.ts'
import { plural, sizeWords } from '../../text/words.ts'
import type { Commands, CommandNext } from '../write-command.ts'
import { ok, warn, fail, type Check, type CheckedStore } from './check.ts'
import type { PostgresInspection } from '../../stores/postgres/inspect.ts'
import type { RedisInspection } from '../../stores/redis/inspect.ts'

const instead = 'name another with --store, REPRISE_STORE or the store of the crew'

/** Checks each store of the crews once; without crews, the default store. */
export async function checkStores(
  given: string | undefined,
  crews: readonly Crew[],
  commands: Commands,
): Promise<Check[]> {
  const byStore = Map.groupBy(crews, (crew) => given ?? crew.store)
  if (byStore.size === 0) return checkStore(given, [], commands)
  const checks: Check[] = []
  for (const sharing of byStore.values()) checks.push(...(await checkStore(given, sharing, commands)))
  return checks
}

async function checkStore(given: string | undefined, crews: readonly Crew[], commands: Commands): Promise<Check[]> {
  const crewStore = crews[0]?.store
  const { url, from } = whichStore(given, crewStore)
  try {
    const isOwn = given === undefined && typeof crewStore === 'object'
    if (isOwn && !/^memory:/i.test(url) && storePath(url) === undefined)
      return [ok('store', `${url}, ${from}: a custom store, which is not inspected`)]
    const { checks, isOpen } = await checkStoreUrl(url, from, commands)
    return isOpen ? [...checks, ...(await checkStoredRuns(url, crews, commands))] : [...checks]
  } catch (error) {
    return [fail('store', `${url}, ${from}: ${messageOf(error)}`, instead)]
  }
}

async function checkStoreUrl(url: string, from: string, commands: Commands): Promise<CheckedStore> {
  if (/^(postgres(ql)?|rediss?):/i.test(url)) return checkServer(url, from, commands)
  const scheme = /^(sqlite|file):/i.exec(url)?.[1]?.toLowerCase() as 'sqlite' | 'file' | undefined
  const path = storePath(url)
  if (path === undefined || scheme === undefined) {
    const store = await openStore(url)
    await store.close()
    return closed(warn('store', `${store.url}, ${from}: runs are gone when their process ends`, instead))
  }
  const { exists, unwritable, bytes, layout, newest } = await inspectStore(scheme, path)
  const where = `${scheme}:${path}, ${from}`
  if (unwritable !== undefined)
    return closed(fail('store', `${where}: cannot be written (${unwritable})`, `make it writable, or ${instead}`))
  if (!exists) return closed(ok('store', `${where}: does not exist yet; the first run creates it`))
  const found = ok('store', `${where}: ${sizeWords(bytes)}, can be written`)
  if (layout !== newest) return closed(found, otherLayout(layout, newest))
  return { checks: [found, ok('layout', `${layout}, as this version writes it`)], isOpen: true }
}

/** Returns the checks of a store whose runs are not read. */
function closed(...checks: readonly Check[]): CheckedStore {
  return { checks, isOpen: false }
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
    'make a copy of it: the next command that opens it migrates it',
  )
}

async function checkStoredRuns(url: string, crews: readonly Crew[], commands: Commands): Promise<Check[]> {
  const store = await openStore(url)
  try {
    let count = 0
    let held = 0
    const described = crews.map((crew) => crew.describe())
    const heldOf = new Map<CrewDescription, number>()
    const abandoned: RunRow[] = []
    const stuck: RunRow[] = []
    const givenUp: RunRow[] = []
    const unserved: RunRow[] = []
    const cutOff: RunRow[] = []
    let moved = 0
    for await (const row of allRows(store, {})) {
      count++
      if (isEnded(row.status) || isChildRun(row)) continue
      const move = moveOf(readSummary(row))
      if (move) {
        moved++
        if (!move.arrived) cutOff.push(row)
        continue
      }
      if (isGivenUp(readSummary(row))) givenUp.push(row)
      else if (isStuck(await store.tries(row.run))) stuck.push(row)
      const crew = described.find(({ name }) => name === row.crew)
      if (crew && isUnserved(crew, row)) unserved.push(row)
      if (crew && (await store.holder(row.run))) heldOf.set(crew, (heldOf.get(crew) ?? 0) + 1)
      if (row.status !== 'running') continue
      if (await isAbandoned(store, row.run)) abandoned.push(row)
      else held++
    }
    const running = held === 0 ? '' : `, ${held} in a process that is alive`
    const away = moved === 0 ? '' : `, ${moved} moved to another store`
    const runs = ok('runs', `${count}${running}${away}`)
    const limits: Check[] = []
    for (const crew of described) limits.push(...(await checkLimit(store, crew, heldOf.get(crew) ?? 0)))
    return [
      runs,
      ...limits,
      ...checkDecisions('abandoned', 'whose process is gone', abandoned, commands),
      ...checkMoves(cutOff),
      ...(await checkTasks(url, crews, commands)),
      ...checkDecisions('stuck', 'that workers claim again and again without progress', stuck, commands),
      ...checkDecisions('given up', 'whose process ended five times in a row without a new step', givenUp, commands),
      ...crews.flatMap((crew) =>
        checkVersions(
          unserved.filter((row) => row.crew === crew.name),
          commands,
        ),
      ),
    ]
  } finally {
    await store.close()
  }
}

/** Explains why runs stay in the queue although workers are running. */
async function checkLimit(store: Store, crew: CrewDescription, held: number): Promise<Check[]> {
  const { maxRuns } = crew
  if (maxRuns === undefined || held < maxRuns) return []
  const { length: waiting } = await store.ready(crewLanes(crew), 10_000)
  const words = `${plural(held, 'run')} of ${crew.name} in progress, as many as its maxRuns allows`
  return waiting === 0
    ? []
    : [ok('limit', `${words}: ${plural(waiting, 'more run')} ${waiting === 1 ? 'waits' : 'wait'}`)]
}

/** Runs that need a person's decision. */
function checkDecisions(name: string, what: string, found: readonly RunRow[], commands: Commands): Check[] {
  const [first] = found
  if (first === undefined) return []
  const { advice } = commands.forCrew(readSummary(first).module)
  const next = (['resume', 'cancel'] as const).map((type) => advice({ type, runId: first.run }))
  const names = listNames(found.map(({ run }) => run))
  return [warn(name, `${plural(found.length, 'run')} ${what}: ${names}`, next.join(', or '))]
}

/** Runs with recorded work that the loaded crew has no task for. */
async function checkTasks(url: string, crews: readonly Crew[], commands: Commands): Promise<Check[]> {
  const found: RunCheck[] = []
  for (const crew of crews) {
    await using there = crew.with({ store: url })
    for await (const run of there.check()) if (run.outcome === 'orphaned') found.push(run)
  }
  const [first] = found
  if (!first) return []
  const names = listNames(found.map(({ runId, reasons }) => `${runId}: ${reasons.join(', ')}`))
  const next = commands.advice({ type: 'command', to: 'see all of them', words: ['check'], takes: 'file' })
  return [
    warn('tasks', `${plural(found.length, 'run')} with recorded work that the crew has no task for: ${names}`, next),
  ]
}

function checkMoves(cutOff: readonly RunRow[]): Check[] {
  const [first] = cutOff
  const move = first && moveOf(readSummary(first))
  if (!move) return []
  const words = `${plural(cutOff.length, 'run')} whose copy to another store was cut off: ${listNames(cutOff.map(({ run }) => run))}`
  return [warn('moved', words, `repeat the copy: ${first.run} was being moved to ${move.to}`)]
}

/** Whether no worker with this code of the crew would claim the run. */
function isUnserved({ version, accepts }: CrewDescription, row: RunRow): boolean {
  return ![version, ...accepts].includes(row.version)
}

function checkVersions(unserved: readonly RunRow[], commands: Commands): Check[] {
  const [first] = unserved
  if (first === undefined) return []
  const names = listNames(unserved.map(({ run, version }) => `${run} (version ${version})`))
  const words = `${plural(unserved.length, 'run')} of a version of ${first.crew} that no worker with this code claims: ${names}`
  const next = commands.forCrew(readSummary(first).module).advice({ type: 'resume', runId: first.run })
  return [warn('versions', words, `add it to \`accepts\` of the crew, or ${next}`)]
}

function listNames(names: readonly string[]): string {
  return names.slice(0, 5).join(', ') + (names.length > 5 ? ` and ${names.length - 5} more` : '')
}

const migrate: CommandNext = { type: 'command', to: 'migrate it', words: ['migrate'] }

async function checkServer(url: string, from: string, commands: Commands): Promise<CheckedStore> {
  try {
    if (/^redis/i.test(url)) {
      const { inspectRedis } = await import('../../stores/redis/inspect.ts')
      return redisChecks(await inspectRedis(url), from)
    }
    const { inspectPostgres } = await import('../../stores/postgres/inspect.ts')
    return postgresChecks(await inspectPostgres(url), from, commands)
  } catch (error) {
    // the error names the store without the password
    return closed(fail('store', `${from}: ${messageOf(error)}`, instead))
  }
}

function postgresChecks(found: PostgresInspection, from: string, commands: Commands): CheckedStore {
  const { version, encoding, schema, bytes, unwritable, pending, layout, newest, pooled, unsafe, role } = found
  const where = `${found.url}, ${from}: PostgreSQL ${version}, ${encoding}, schema ${schema}`
  const isThere = layout !== undefined
  const size = isThere ? `, ${sizeWords(bytes)}` : ''
  const checks: Check[] = [
    unwritable === undefined
      ? ok('store', `${where}${size}, can be written as ${role}`)
      : fail(
          'store',
          `${where}${size}, cannot be written: ${unwritable}`,
          'grant that, or name another role in the URL',
        ),
  ]
  if (!isThere)
    checks.push(ok('layout', `does not exist yet; the first run creates it, or ${commands.command(migrate)}`))
  else if (pending.length === 0) checks.push(ok('layout', `${newest}, as this version writes it`))
  else {
    const names = pending.map(({ name }) => name).join(', ')
    const words = `${plural(pending.length, 'migration')} missing: ${names}; they are applied when the store is opened next`
    checks.push(warn('layout', words, commands.advice(migrate)))
  }
  if (pooled) checks.push(ok('pooler', 'in front of the server: it passes on no notifications, so changes are polled'))
  if (unsafe.length > 0) {
    const words = `${unsafe.join(' and ')} ${unsafe.length === 1 ? 'is' : 'are'} off: a crash of the server may lose steps that it has confirmed`
    checks.push(warn('durability', words, `set ${unsafe.join(' and ')} to on`))
  }
  return { checks, isOpen: pending.length === 0 && unwritable === undefined }
}

function redisChecks(found: RedisInspection, from: string): CheckedStore {
  const { role, caution, layout, newest, replicas } = found
  const where = `${found.url}, ${from}: ${found.version}, ${memory(found)}`
  const isMaster = role === 'master'
  const checks: Check[] = [
    isMaster
      ? ok('store', `${where}, can be written`)
      : fail('store', `${where}, cannot be written: it is a ${role}`, 'name the server that it follows'),
    layout === undefined
      ? ok('layout', 'does not exist yet; the first run creates it')
      : layout > newest
        ? fail('layout', `${layout}, of a newer version; this one writes ${newest}`, 'update reprise')
        : ok('layout', `${layout}, as this version writes it`),
    caution === undefined
      ? ok('durability', 'each step is on disk when it is confirmed (appendfsync always)')
      : warn('durability', caution, 'set appendonly to yes and appendfsync to always if no step may be lost'),
  ]
  if (replicas > 0)
    checks.push(
      warn(
        'failover',
        `${plural(replicas, 'replica')} may lag behind the server: a failover may lose the last steps`,
        'set min-replicas-to-write to prevent that',
      ),
    )
  return { checks, isOpen: isMaster && layout !== undefined && layout <= newest }
}

function memory({ usedBytes, maxBytes }: RedisInspection): string {
  const used = `${sizeWords(usedBytes)} of memory used`
  return maxBytes === 0 ? used : `${used} of ${sizeWords(maxBytes)}`
}
