// Another process at a store, driven by its arguments:
//   append <url> <run> <count>  creates the run and appends, printing each number once it is on disk
//   flood <url> <run> <size>    the same in batches of `size` entries, for ever
//   take <url> <run>            takes over the lease of a run and prints its token
//   lock <database>             takes SQLite's write lock, prints "locked", and drops it when its stdin ends
import { once } from 'node:events'
import { DatabaseSync } from 'node:sqlite'
import { openStore, currentOwner } from 'reprise/stores'
import { batch, row } from '../../src/testing/store-contract/harness.ts'

const [command, place = '', run = '', count = '0'] = process.argv.slice(2)
switch (command) {
  case 'append': {
    const store = await openStore(place)
    const { lease } = await store.create(row(run), batch(1), { owner: currentOwner(), ttlMs: 30_000 })
    if (lease === undefined) throw new Error(`run ${run} is there already`)
    for (let seq = 2; seq <= Number(count); seq++) {
      await store.append(lease, seq - 1, batch(seq))
      process.stdout.write(`${seq}\n`)
    }
    await store.close()
    break
  }
  case 'flood': {
    const store = await openStore(place)
    const size = Number(count)
    const { lease } = await store.create(row(run), batch(1, size), { owner: currentOwner(), ttlMs: 30_000 })
    if (lease === undefined) throw new Error(`run ${run} is there already`)
    for (let seq = size; ; seq += size) {
      await store.append(lease, seq, batch(seq + 1, size))
      process.stdout.write(`${seq + size}\n`)
    }
  }
  case 'take': {
    const store = await openStore(place)
    const { token } = await store.acquire(run, currentOwner(), 30_000)
    process.stdout.write(`${token}\n`)
    await store.close()
    break
  }
  case 'lock': {
    const db = new DatabaseSync(place)
    db.exec('begin immediate')
    process.stdout.write('locked\n')
    process.stdin.resume()
    await once(process.stdin, 'end')
    db.exec('rollback')
    db.close()
    break
  }
  default:
    throw new Error(`unknown command ${command}`)
}
