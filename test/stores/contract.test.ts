import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileStore, memoryStore, sqliteStore } from 'reprise/stores'
import { storeContract } from '../../src/testing/store-contract.ts'
import { temporaryFolder } from './temporary-folder.ts'

storeContract('memory', { open: ({ now }) => memoryStore({ now }) })

storeContract('sqlite', {
  async open({ now, onEnd }) {
    const { path } = await temporaryFolder()
    onEnd(() => rm(path, { recursive: true, force: true }))
    return sqliteStore(join(path, 'runs.db'), { now })
  },
  reopen: (closed, { now }) => sqliteStore(closed.url.slice('sqlite:'.length), { now }),
})

storeContract('file', {
  async open({ now, onEnd }) {
    const { path } = await temporaryFolder()
    onEnd(() => rm(path, { recursive: true, force: true }))
    return fileStore(path, { now })
  },
  reopen: (closed, { now }) => fileStore(closed.url.slice('file:'.length), { now }),
})
