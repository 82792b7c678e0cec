import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileStore, memoryStore, sqliteStore, type Store } from 'reprise/stores'
import { faultyStore } from '../../src/testing/faulty-store.ts'
import { storeContract } from '../../src/testing/store-contract.ts'
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
    return inTurn(join(path, 'runs.db'), now)
  },
  reopen: (closed, { now }) => inTurn(closed.url.slice('sqlite:'.length), now),
})

storeContract('file', {
  async open({ now, onEnd }) {
    const { path } = await temporaryFolder()
    onEnd(() => rm(path, { recursive: true, force: true }))
    return fileStore(path, { now })
  },
  reopen: (closed, { now }) => fileStore(closed.url.slice('file:'.length), { now }),
})

/** Two connections to one database: every call goes to the one that did not get the call before. */
async function inTurn(path: string, now: () => number): Promise<Store> {
  const stores = [await sqliteStore(path, { now }), await sqliteStore(path, { now })] as const
  let calls = 0
  const other = (): Store => stores[++calls % 2 === 0 ? 0 : 1]
  return {
    url: stores[0].url,
    create: (...given) => other().create(...given),
    append: (...given) => other().append(...given),
    read: (...given) => other().read(...given),
    lastNoted: (...given) => other().lastNoted(...given),
    blob: (...given) => other().blob(...given),
    row: (...given) => other().row(...given),
    list: (...given) => other().list(...given),
    findOutput: (...given) => other().findOutput(...given),
    acquire: (...given) => other().acquire(...given),
    claim: (...given) => other().claim(...given),
    renew: (...given) => other().renew(...given),
    release: (...given) => other().release(...given),
    holder: (...given) => other().holder(...given),
    tries: (...given) => other().tries(...given),
    post: (...given) => other().post(...given),
    inbox: (...given) => other().inbox(...given),
    watch: (...given) => other().watch(...given),
    delete: (...given) => other().delete(...given),
    async close() {
      for (const store of stores) await store.close()
    },
  }
}
