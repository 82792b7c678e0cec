// The servers that tests share: started by `npm test` for all of its processes, named in the environment, or started by
// this process on first use and gone with it.
import { isCi } from '../ci.ts'
import type { ServerKind } from './server-program.ts'
import { startServer } from './server.ts'

/** What says which: a URL, or a sentence that says why there is none. */
export const variables: { readonly [kind in ServerKind]: string } = {
  postgres: 'REPRISE_TEST_POSTGRES',
  redis: 'REPRISE_TEST_REDIS',
}

const known = new Map<ServerKind, Promise<{ readonly url: string }>>()

/** Rejects where no server can be started. */
export function sharedServer(kind: ServerKind): Promise<{ readonly url: string }> {
  const server = known.get(kind) ?? find(kind)
  known.set(kind, server)
  return server
}

/**
 * Why tests over such a server are skipped: an option of node:test. In CI they never are: there the reason is an error.
 */
export async function without(kind: ServerKind): Promise<string | false> {
  try {
    await sharedServer(kind)
    return false
  } catch (error) {
    if (isCi) throw error
    return error instanceof Error ? error.message : String(error)
  }
}

async function find(kind: ServerKind): Promise<{ readonly url: string }> {
  const given = process.env[variables[kind]]
  if (given === undefined || given === '') return startServer(kind)
  if (/^(postgres(ql)?|rediss?):\/\//.test(given)) return { url: given }
  throw new Error(given)
}
