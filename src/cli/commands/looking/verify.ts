// `reprise verify`: reads a journal line by line and checks each against the hash that the next one names, and stored
// values against their own. A person's edit is no fault, but it is said, as is what was lost: whether a resume has
// recorded it, and what that executed again.
import { rangesOf } from '../../../text/words.ts'
import { exitCodes } from '../../exit-codes.ts'
import { checkJournal, type Check } from './check-journal.ts'
import { aboutRun } from '../../find/about-run.ts'
import { findRun } from '../../find/find-run.ts'
import type { Invocation } from '../../invocation.ts'
import { openRuns } from '../../find/open-runs.ts'
import type { Channel, Piece } from '../../terminal/terminal.ts'
import { entriesWord } from '../../terminal/entries-word.ts'

export async function verify(invocation: Invocation): Promise<number> {
  const { terminal, args, commands } = invocation
  await using engine = await openRuns(invocation)
  const run = await aboutRun(commands, engine.store, await findRun(engine.store, args[0]))
  const check = await checkJournal(engine.store, run)
  if (terminal.json) terminal.record(check)
  else print(terminal.out, check)
  const { missing, changed, values } = check
  const broken = values.missing.length + values.changed.length > 0
  if (broken)
    terminal.err.line('values that the journal refers to are not there any more; restore the store from a copy')
  else if (missing.length + changed.length > 0)
    terminal.err.line(
      `a resume records it and executes what it left undone, unless you restore the journal from a copy; ${commands.advice({ act: 'resume', runId: run })}`,
    )
  return check.whole ? exitCodes.done : exitCodes.failed
}

function print(channel: Channel, check: Check): void {
  const { runId, entries, whole, missing, changed, recorded, values } = check
  const field = (name: string, ...pieces: Piece[]): void =>
    channel.line({ text: name.padEnd(9), format: 'dim' }, ...pieces)
  const bad = (text: string): Piece => ({ text, format: 'red' })
  field('run', runId)
  field('journal', whole ? { text: 'whole', format: 'green' } : bad('not as it was written'))
  field('entries', String(entries))
  if (values.count > 0) field('values', `${values.count} stored apart`)
  for (const edit of recorded) {
    const again = edit.tasks.length > 0 ? `, which executed ${edit.tasks.join(', ')} again` : ''
    const what = editWords(edit.missing, edit.changed)
    field('edited', `by hand or by damage: ${what}; recorded by the resume at entry ${edit.entry}${again}`)
  }
  if (missing.length + changed.length > 0)
    field('edited', bad(`by hand or by damage: ${editWords(missing, changed)}; not recorded yet`))
  for (const hash of values.missing) field('value', bad(`${hash} is missing`))
  for (const hash of values.changed) field('value', bad(`${hash} is not as it was written`))
}

function editWords(missing: readonly number[], changed: readonly number[]): string {
  const words = (list: readonly number[], what: string): string[] =>
    list.length === 0 ? [] : [`${entriesWord(list.length)} ${what} (${rangesOf(list)})`]
  return [...words(missing, 'removed'), ...words(changed, 'changed')].join(', ')
}
