// A process that copies one run and is killed right before a write, counted over both stores: copier.ts <from> <to>
// <run> <write>
import { openStore, type Store } from 'reprise/stores'
import { copyEngines, copyRun } from '../../../src/engine/history/copy-run.ts'

const [from = '', to = '', run = '', write] = process.argv.slice(2)
let writes = 0

function killing(inner: Store): Store {
  const counted = async <T>(act: () => Promise<T>): Promise<T> => {
    writes += 1
    if (writes === Number(write)) process.kill(process.pid, 'SIGKILL')
    return act()
  }
  return {
    ...inner,
    create: (...args) => counted(() => inner.create(...args)),
    append: (...args) => counted(() => inner.append(...args)),
    post: (...args) => counted(() => inner.post(...args)),
    acquire: (...args) => counted(() => inner.acquire(...args)),
    release: (...args) => counted(() => inner.release(...args)),
    delete: (...args) => counted(() => inner.delete(...args)),
  }
}

const [source, target] = await Promise.all([openStore(from), openStore(to)])
const { outcome } = await copyRun(copyEngines(killing(source), killing(target)), run, false)
await Promise.all([source.close(), target.close()])
console.log(JSON.stringify({ outcome, writes }))
