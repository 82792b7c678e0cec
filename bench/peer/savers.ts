// Where a LangGraph.js graph keeps its checkpoints: its SQLite saver, as it is and synced, or its PostgreSQL saver.
// Their types are declared here, so that nothing else needs the packages.
import { join } from 'node:path'

export interface OpenSaver {
  /** The saver, for `compile`. */
  readonly saver: object
  /** What a commit waits for, such as a sync. */
  readonly how: string
  /** Throws if commits don't wait for that. */
  check(): void
  close(): void
}

export type OpenSaverFor = (name: string) => OpenSaver | Promise<OpenSaver>

/** The saver keeps SQLite's default `normal`, which waits for the disk only at a checkpoint of the log. */
export async function sqliteSavers(folder: string): Promise<{ [Synced in 'normal' | 'full']: OpenSaverFor }> {
  const { SqliteSaver } = (await import(sqlitePackage)) as SqlitePackage
  const open = (synced: 'normal' | 'full') => (name: string) => {
    const saver = SqliteSaver.fromConnString(join(folder, `${name}.db`))
    if (synced === 'full') saver.db.pragma('synchronous = full')
    return {
      saver,
      how: `synchronous = ${synced}`,
      check() {
        const now = saver.db.pragma('synchronous', { simple: true })
        if (now !== (synced === 'full' ? 2 : 1)) throw new Error(`${name} ran with synchronous = ${String(now)}`)
      },
      close: () => saver.db.close(),
    }
  }
  return { normal: open('normal'), full: open('full') }
}

/** The PostgreSQL saver, each time in its own schema, with the server's settings. */
export async function postgresSavers(url: string): Promise<OpenSaverFor> {
  const { PostgresSaver } = (await import(postgresPackage)) as PostgresPackage
  return async (name) => {
    const saver = PostgresSaver.fromConnString(url, { schema: name.toLowerCase().replaceAll(/[^a-z]+/g, '_') })
    await saver.setup()
    return { saver, how: 'the same server', check() {}, close: () => void saver.end() }
  }
}

// not a literal: the packages are seldom installed, and then have no types
const sqlitePackage: string = '@langchain/langgraph-checkpoint-sqlite'
const postgresPackage: string = '@langchain/langgraph-checkpoint-postgres'

interface SqlitePackage {
  readonly SqliteSaver: {
    fromConnString(path: string): {
      readonly db: { pragma(text: string, options?: { simple: true }): unknown; close(): void }
    }
  }
}

interface PostgresPackage {
  readonly PostgresSaver: {
    fromConnString(url: string, options: { schema: string }): { setup(): Promise<void>; end(): Promise<void> }
  }
}
