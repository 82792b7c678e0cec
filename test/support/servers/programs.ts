// The programs that tests start and npm does not install.
import { execFileSync } from 'node:child_process'

export interface Program {
  readonly name: string
  /** A command or a path. */
  readonly command: string
  /** What cannot be tested without the program. */
  readonly tests: string
}

export const programs = {
  redis: {
    name: 'Redis',
    command: process.env['REPRISE_TEST_REDIS_SERVER'] ?? 'redis-server',
    tests: 'stores and workers over Redis',
  },
  pgbouncer: { name: 'PgBouncer', command: 'pgbouncer', tests: 'PostgreSQL through a pool of connections' },
  chromium: {
    name: 'Chromium',
    command: process.env['REPRISE_TEST_CHROMIUM'] ?? 'chromium',
    tests: 'pages in a browser',
  },
} satisfies { readonly [name: string]: Program }

/** Returns the path of a program. Throws if it is not installed. */
export function findProgram({ name, command }: Program): string {
  // Debian installs servers in folders that are only on root's PATH
  const places = `${process.env['PATH'] ?? ''}:/usr/sbin:/usr/local/sbin`
  try {
    return execFileSync('which', [command], { encoding: 'utf8', stdio: 'pipe', env: { PATH: places } }).trim()
  } catch {
    throw new Error(`${name} (${command}) is not installed: run npm run install-test-servers`)
  }
}

export function missingPrograms(): Program[] {
  return Object.values(programs).filter((program) => {
    try {
      findProgram(program)
      return false
    } catch {
      return true
    }
  })
}
