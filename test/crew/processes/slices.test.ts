// A run longer than the time of any process.
import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { temporaryFolder } from '../../stores/temporary-folder.ts'
import { bundle } from '../../support/bundle.ts'

test('a crew of 27 model calls, advanced in slices of 100 ms by alternating processes, makes 27 calls', async () => {
  await using folder = await temporaryFolder()
  const ledger = join(folder.path, 'calls.log')
  const { file, variables } = await bundle(join(import.meta.dirname, 'slice-process.ts'))
  const options = { env: { ...process.env, ...variables }, execArgv: [] }
  const turns = [1, 2].map(() => fork(file, [`sqlite:${join(folder.path, 'runs.db')}`, ledger], options))
  await Promise.all(turns.map((child) => once(child, 'message')))
  const slices: { readonly status: string }[] = []
  do {
    const child = turns[slices.length % turns.length] as (typeof turns)[number]
    child.send('advance')
    const [outcome] = (await once(child, 'message')) as [{ readonly status: string }]
    slices.push(outcome)
  } while (slices.at(-1)?.status === 'more' && slices.length < 50)
  const gone = turns.map((child) => once(child, 'exit'))
  for (const child of turns) child.kill('SIGKILL')
  await Promise.all(gone)
  assert.deepEqual(slices.at(-1), { status: 'completed' })
  assert.equal((await readFile(ledger, 'utf8')).length, 27 * 'call\n'.length)
  // no slice is longer than its time and the step that is being made
  assert.ok(slices.length >= 5, `${slices.length} slices`)
})
