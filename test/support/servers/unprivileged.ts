import type { User } from './server-program.ts'

/**
 * PostgreSQL refuses to be executed by root; root lends servers the user who owns nothing. Undefined: whoever we are.
 */
export function unprivileged(): User | undefined {
  return process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined
}
