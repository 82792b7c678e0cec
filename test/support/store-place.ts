// Empty stores for tests that run over several kinds of stores.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { freshSchema } from './postgres/fresh-schema.ts'
import { pooledPostgres, withoutPgBouncer } from './postgres/pgbouncer.ts'
import { freshPrefix } from './redis/fresh-prefix.ts'
import { without } from './servers/shared-server.ts'

/** `pgbouncer`: PostgreSQL behind a pooler that runs each transaction on another connection. */
export const storeKinds = ['sqlite', 'file', 'postgres', 'pgbouncer', 'redis'] as const
export type StoreKind = (typeof storeKinds)[number]

export function isStoreKind(name: string): name is StoreKind {
  return (storeKinds as readonly string[]).includes(name)
}

/** Whether the store is on a server, which makes everything slower. */
export function isServer(kind: StoreKind): boolean {
  return !(kind in urlsIn)
}

export interface StorePlace extends AsyncDisposable {
  readonly url: string
}

/**
 * Returns an empty store: in this folder, which the caller removes, or in its own part of a server, which is emptied on
 * disposal.
 */
export async function storePlace(kind: StoreKind, folder: string): Promise<StorePlace> {
  if (kind === 'postgres') return freshSchema()
  if (kind === 'pgbouncer') return pooledSchema()
  if (kind === 'redis') return freshPrefix()
  await mkdir(folder, { recursive: true })
  return { url: urlsIn[kind](folder), [Symbol.asyncDispose]: async () => {} }
}

const urlsIn = {
  sqlite: (folder: string) => `sqlite:${join(folder, 'runs.db')}`,
  file: (folder: string) => `file:${join(folder, 'state')}`,
}

/**
 * Returns each kind with `skip` of node:test: why tests over it cannot run here. Await it before declaring any test or
 * hook: hooks may be called while it waits.
 */
export async function kindsHere<Kind extends StoreKind>(
  ...kinds: readonly Kind[]
): Promise<{ readonly kind: Kind; readonly skip: string | false }[]> {
  return Promise.all(kinds.map(async (kind) => ({ kind, skip: await missing(kind) })))
}

async function missing(kind: StoreKind): Promise<string | false> {
  if (!isServer(kind)) return false
  if (kind === 'redis') return without('redis')
  return (await without('postgres')) || (kind === 'pgbouncer' && (await withoutPgBouncer()))
}

async function pooledSchema(): Promise<StorePlace> {
  const schema = await freshSchema()
  const url = new URL(await pooledPostgres())
  url.searchParams.set('schema', schema.schema)
  return { url: url.href, [Symbol.asyncDispose]: async () => schema[Symbol.asyncDispose]() }
}
