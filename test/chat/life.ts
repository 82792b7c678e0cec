// A process that sends messages until it is killed at an entry.
import { openStore } from '../../src/stores/open-store.ts'
import { killingAt } from '../crash/killing.ts'
import { ledgerChat, talkOn } from './support.ts'

const [, , url = '', ledger = '', killAt = ''] = process.argv
const { store } = killingAt(await openStore(url), killAt, () => process.kill(process.pid, 'SIGKILL'))
await talkOn(ledgerChat(store, ledger))
