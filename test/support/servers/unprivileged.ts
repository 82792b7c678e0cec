import type { User } from './server-program.ts'

/** Returns the user `nobody` if this process is root, as which PostgreSQL refuses to run. Otherwise undefined. */
export function unprivileged(): User | undefined {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
}
