// Checks a PostgreSQL store: whether it can be reached and written, whether its tables are those of this version, and
// whether its server's settings lose data.
import { messageOf } from '../../base/errors.ts'
import { inspectPostgres, type PostgresInspection } from '../../stores/postgres/inspect.ts'
import { plural, sizeWords } from '../output/words.ts'
import type { CommandNext, Commands } from '../write-command.ts'
import { fail, ok, warn, type Check, type CheckedStore } from './check.ts'

const migrate: CommandNext = { type: 'command', to: 'bring it up to date', words: ['migrate'] }

/** `instead`: what to do if the store cannot be used. */
export async function checkPostgres(
  url: string,
  from: string,
  commands: Commands,
  instead: string,
): Promise<CheckedStore> {
  try {
    return postgresChecks(await inspectPostgres(url), from, commands)
  } catch (error) {
    // the error names the store without the password
    return { checks: [fail('store', `${from}: ${messageOf(error)}`, instead)], isOpen: false }
  }
}

function postgresChecks(found: PostgresInspection, from: string, commands: Commands): CheckedStore {
  const { version, encoding, schema, bytes, unwritable, pending, layout, newest, pooled, unsafe, role } = found
  const place = `${found.url}, ${from}: PostgreSQL ${version}, ${encoding}, schema ${schema}`
  const isThere = layout !== undefined
  const size = isThere ? `, ${sizeWords(bytes)}` : ''
  const checks: Check[] = [
    unwritable === undefined
      ? ok('store', `${place}${size}, can be written as ${role}`)
      : fail(
          'store',
          `${place}${size}, cannot be written: ${unwritable}`,
          'grant that, or name another role in the URL',
        ),
  ]
  if (!isThere) checks.push(ok('layout', `not there yet: created by the first run, or by ${commands.command(migrate)}`))
  else if (pending.length === 0) checks.push(ok('layout', `${newest}, as this version writes it`))
  else {
    const names = pending.map(({ name }) => name).join(', ')
    const words = `${plural(pending.length, 'migration')} missing: ${names}; they are applied when the store is opened next`
    checks.push(warn('layout', words, commands.advice(migrate)))
  }
  if (pooled)
    checks.push(ok('pooler', 'in front of the server: changes are polled, since it passes on no notifications'))
  if (unsafe.length > 0) {
    const words = `${unsafe.join(' and ')} ${unsafe.length === 1 ? 'is' : 'are'} off: a crash of the server may lose steps that it has confirmed`
    checks.push(warn('durability', words, `set ${unsafe.join(' and ')} to on`))
  }
  return { checks, isOpen: pending.length === 0 && unwritable === undefined }
}
