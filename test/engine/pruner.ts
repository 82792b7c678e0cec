// A process that prunes a store and is killed during the deletion of the third run, `turns` turns of the event loop
// after the start, so that kills hit before, inside and after the deletion.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { prune } from '../../src/runs/prune.ts'
import { openEngine, realWorld } from '../../src/engine/world.ts'
import { openStore } from '../../src/stores/open-store.ts'

const [url = '', turns = '0'] = process.argv.slice(2)
const inner = await openStore(url)
let deletions = 0
const store = {
  ...inner,
  async delete(run: string) {
    const dies = ++deletions === 3
    const deleted = inner.delete(run)
    if (dies) {
      for (let turn = 0; turn < Number(turns); turn++) await nextTurn()
      process.kill(process.pid, 'SIGKILL')
    }
    await deleted
  },
}
await prune(openEngine(store, realWorld()), {}, { keep: 0 })
