// The server that tests share: the one that `npm test` started for all of its processes, one that whoever runs the tests has, or one that
// this process starts when it is first asked, and that is gone with it.
import { startServer } from './server.ts'

/** A URL, or a sentence that says why there is none. */
export const variable = 'REPRISE_TEST_POSTGRES'

let known: Promise<{ readonly url: string }> | undefined

/** Rejects where no server can be started. */
export function testPostgres(): Promise<{ readonly url: string }> {
  known ??= find()
  return known
}

/** Why tests over PostgreSQL are skipped: an option of node:test. In CI they never are: there the reason is an error. */
export async function withoutPostgres(): Promise<string | false> {
  try {
    await testPostgres()
    return false
  } catch (error) {
    if (process.env['CI'] === 'true') throw error
    return error instanceof Error ? error.message : String(error)
  }
}

async function find(): Promise<{ readonly url: string }> {
  const given = process.env[variable]
  if (given === undefined || given === '') return startServer()
  if (/^postgres(ql)?:/.test(given)) return { url: given }
  throw new Error(given)
}
