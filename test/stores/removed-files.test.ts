// The files of a store are removed or replaced while a process has them open: its writes would reach no path any more.
import assert from 'node:assert/strict'
import { copyFile, mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Crew, Task } from 'reprise'
import { fileStore, sqliteStore, currentOwner } from 'reprise/stores'
import { batch, refused, row, seqsOf, started, ttlMs } from '../../src/testing/store-contract/harness.ts'
import { temporaryFolder } from './temporary-folder.ts'

const replaced =
  /runs\.db(-wal)? was removed or replaced while this process had it open.*restore the file.*restart the process/

for (const [what, change] of Object.entries<(path: string) => Promise<void>>({
  'its file is removed': (path) => rm(path),
  'all its files are removed': async (path) => {
    for (const end of ['', '-wal', '-shm']) await rm(path + end)
  },
  'the file of its newest commits is removed': (path) => rm(`${path}-wal`),
  'another file is put in its place': async (path) => {
    await copyFile(path, `${path}.copy`)
    await rename(`${path}.copy`, path)
  },
})) {
  test(`a database accepts no more writes if ${what}, but can still be read`, async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'runs.db')
    const store = await sqliteStore(path)
    const lease = await started(store, 'r')
    await store.append(lease, 1, batch(2))
    await change(path)
    await refused(store.append(lease, 2, batch(3, 1, { row: row('r') })), 'STORE_FAILED', replaced)
    await refused(store.create(row('new'), batch(1)), 'STORE_FAILED', replaced)
    await refused(store.renew([lease], ttlMs), 'STORE_FAILED', replaced)
    assert.deepEqual(await seqsOf(store, 'r'), [1, 2])
    await store.close()
  })
}

for (const kind of ['sqlite', 'file'] as const) {
  test(`a run whose ${kind} store is removed during its execution fails, and does not complete`, async () => {
    await using folder = await temporaryFolder()
    const place = join(folder.path, 'place')
    const remove = new Task({ name: 'remove', run: () => rm(place, { recursive: true }).then(() => 'removed') })
    const next = new Task({ name: 'next', run: () => 'next' })
    const store = kind === 'sqlite' ? `sqlite:${join(place, 'runs.db')}` : `file:${place}`
    const crew = new Crew({ name: 'c', tasks: [remove, next], store, logger: { info() {}, warn() {} } })
    await assert.rejects(crew.kickoff({ id: 'r' }), {
      code: 'STORE_FAILED',
      message: /place.* was removed or replaced while this process had it open/,
    })
    await crew.close()
  })
}

for (const [what, change] of Object.entries<(folder: string) => Promise<void>>({
  'the table of leases is removed': (folder) => rm(join(folder, 'leases.db')),
  'the folder is removed': (folder) => rm(folder, { recursive: true }),
  'another folder is put in its place': async (folder) => {
    await rename(folder, `${folder}.old`)
    await mkdir(folder)
    await writeFile(join(folder, 'leases.db'), '')
  },
})) {
  test(`a folder accepts no more writes if ${what}, since another process could hold the same lock`, async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'state')
    const store = await fileStore(path)
    const lease = await started(store, 'r')
    await change(path)
    const message = /leases\.db was removed or replaced while this process had it open/
    await refused(store.append(lease, 1, batch(2)), 'STORE_FAILED', message)
    await refused(store.create(row('new'), batch(1)), 'STORE_FAILED', message)
    await refused(store.acquire('r', currentOwner(), ttlMs), 'STORE_FAILED', message)
    await store.close()
  })
}
