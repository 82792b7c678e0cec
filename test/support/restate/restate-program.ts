// How the tests start Restate: the binary that npm installed with @restatedev/restate-server, configured by
// `restate.toml`, which is next to its data.
import { mkdir } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { ServerProgram } from '../servers/server-program.ts'

export const program: ServerProgram = {
  async prepare({ folder }) {
    find()
    await mkdir(join(folder, 'data'), { mode: 0o700 })
  },
  launch: ({ folder }) => [
    find(),
    ['--no-logo', '--config-file', join(folder, 'restate.toml'), '--base-dir', join(folder, 'data')],
  ],
  ready: 'Admin API starting on',
  killedBy: 'SIGKILL',
  stoppedBy: 'SIGTERM',
  anyUser: true,
}

/** Throws if there is no binary for this platform. */
export function find(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`
  try {
    const server = createRequire(createRequire(import.meta.url).resolve('@restatedev/restate-server/package.json'))
    return join(server.resolve(`${name}/package.json`), '../bin/restate-server')
  } catch {
    throw new Error(
      `no Restate for this platform: the package ${name} is not installed; run npm run install-test-packages`,
    )
  }
}
