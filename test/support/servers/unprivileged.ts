import type { User } from './server-program.ts'

/**
 * The user `nobody` if this process is root, which PostgreSQL refuses to run as. Otherwise undefined.
 */
export function unprivileged(): User | undefined {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
}
