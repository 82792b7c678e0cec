// The servers that tests share: `npm test` starts them for all of its processes and passes their URLs in environment
// variables. Otherwise this process starts them on first use, and they end with it.
import { isCi } from '../ci.ts'
import type { ServerKind } from './server-program.ts'
import { startServer } from './server.ts'

/** Environment variables with a URL, or with a sentence that says why there is no server. */
export const variables: { readonly [kind in ServerKind]: string } = {
  postgres: 'REPRISE_TEST_POSTGRES',
  redis: 'REPRISE_TEST_REDIS',
}

const known = new Map<ServerKind, Promise<{ readonly url: string }>>()

/** Rejects if no server can be started. */
export function sharedServer(kind: ServerKind): Promise<{ readonly url: string }> {
  const server = known.get(kind) ?? find(kind)
  known.set(kind, server)
  return server
}

/** `skip` of node:test: why tests need this server and cannot have it. Rejects in CI, where none may be skipped. */
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
