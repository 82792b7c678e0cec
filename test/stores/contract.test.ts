import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileStore, memoryStore, sqliteStore, type Store } from 'reprise/stores'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
import { isFull } from '../support/full.ts'
import { begunThere, distantStore } from './distant-store.ts'
import { inTurn } from './in-turn.ts'
import { openWithClock } from './open-with-clock.ts'
import { temporaryFolder } from './temporary-folder.ts'

storeContract('memory', { open: ({ now }) => memoryStore({ now }) })

storeContract('a faulty store without a fault', { open: ({ now }) => faultyStore(memoryStore({ now })) })

storeContract('sqlite', {
  async open({ now, onEnd }) {
    const { path } = await temporaryFolder()
    onEnd(() => rm(path, { recursive: true, force: true }))
    return sqliteStore(join(path, 'runs.db'), { now })
  },
  reopen: (closed, { now }) => sqliteStore(closed.url.slice('sqlite:'.length), { now }),
})

// what one connection does, the other knows
storeContract('sqlite, its calls shared by two connections', {
  async open({ now, onEnd }) {
    const { path } = await temporaryFolder()
    onEnd(() => rm(path, { recursive: true, force: true }))
    return twoHandles(`sqlite:${join(path, 'runs.db')}`, now)
  },
  reopen: (closed, { now }) => twoHandles(closed.url, now),
})

// beyond the contract above, this tests how quickly one connection sees the other's writes
if (isFull) {
  storeContract('sqlite, its calls shared by two processes', {
    async open({ now, onEnd }) {
      const { path } = await temporaryFolder()
      onEnd(() => rm(path, { recursive: true, force: true }))
      return twoProcesses(`sqlite:${join(path, 'runs.db')}`, now)
    },
    reopen: (closed, { now }) => twoProcesses(closed.url, now),
  })
}

storeContract('file', {
  async open({ now, onEnd }) {
    const { path } = await temporaryFolder()
    onEnd(() => rm(path, { recursive: true, force: true }))
    return fileStore(path, { now })
  },
  reopen: (closed, { now }) => fileStore(closed.url.slice('file:'.length), { now }),
})

async function twoHandles(url: string, now: () => number): Promise<Store> {
  return inTurn(await openWithClock(url, now), await openWithClock(url, now))
}

async function twoProcesses(url: string, now: () => number): Promise<Store> {
  return inTurn(await openWithClock(url, now), await distantStore(url, now), begunThere)
}
