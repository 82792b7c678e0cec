// A conversation of 200 turns, executed by 20 processes that are killed and a last one that isn't.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { openStore } from '../../src/stores/open-store.ts'
import { dieAt } from '../crash/mortal.ts'
import { entriesOf, newStore } from '../engine/support.ts'
import { temporaryFolder } from '../stores/temporary-folder.ts'
import { bundle } from '../support/bundle.ts'
import { ledgerChat, talkOn } from './support.ts'

describe('a conversation of 200 turns over 20 processes that are killed', () => {
  test('a conversation executed by killed processes has the answers and effects of an undisturbed one', async () => {
    await using folder = await temporaryFolder()
    const { file, variables } = await bundle(join(import.meta.dirname, 'life.ts'))
    const [ledger, url] = [join(folder.path, 'ledger'), `sqlite:${join(folder.path, 'runs.db')}`]
    for (let life = 0; life < 20; life++) {
      const at = `${life % 2 === 0 ? 'before' : 'after'}:${68 + ((7 * life) % 23)}`
      // every third process is a real one, killed by SIGKILL
      if (life % 3 === 0) {
        const child = spawn(process.execPath, [file, url, ledger, at], {
          stdio: 'inherit',
          env: { ...process.env, ...variables },
        })
        assert.deepEqual(await once(child, 'exit'), [null, 'SIGKILL'])
        continue
      }
      const store = await openStore(url)
      assert.ok(!('lived' in (await dieAt(store, { at }, (mortal) => talkOn(ledgerChat(mortal, ledger))))))
      await store.close()
    }
    await using last = ledgerChat(await openStore(url), ledger)
    const messages = await talkOn(last)
    assert.equal(messages.length, 400)
    const undisturbed = ledgerChat(newStore(), join(folder.path, 'undisturbed'))
    assert.deepEqual(messages, await talkOn(undisturbed))
    const [fork, same] = await Promise.all(
      [last, undisturbed].map((served) => served.conversation('c').fork({ turn: 50, id: 'f' })),
    )
    assert.deepEqual(
      (await fork?.messages())?.map(({ text }) => text),
      messages.slice(0, 100),
    )
    assert.equal(String(await fork?.send('What now?')), String(await same?.send('What now?')))
    assert.equal((await last.conversation('c').messages()).length, 400)
    const booked = readFileSync(ledger, 'utf8').trim().split('\n').map(Number)
    assert.deepEqual(
      booked,
      Array.from({ length: 50 }, (_, index) => (index + 1) * 4),
    )
    const { store } = await last['~open'].engine()
    const entries = (
      await Promise.all(['c', 'c~2', 'c~3', 'c~4', 'c~5'].map((run) => entriesOf(store as never, run)))
    ).flat()
    assert.equal(entries.filter(({ type }) => type === 'model.replied').length, 250)
    assert.equal(entries.filter(({ type }) => type === 'event.received').length, 200)
  })
})
