// One life of a run in a process of its own: kicks it off or takes it up, and is killed, if told so, right before or right after
// one of its appends, or when an output file is written and has not got its name. Prints `ready`, then what came of it.
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { RepriseError } from 'reprise'
import { openStore } from '../../src/stores/open-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { live, openCrew } from './life.ts'

const [url = '', run = '', name = '', killAt = ''] = process.argv.slice(2)
const [moment, number] = killAt.split(':')
let appends = 0
let renames = 0

const store = await openStore(url)
await using opened = await openCrew(name, run, killing(store))
// loaded before, so that the time of a run is spent on the run
await import('ai')
await import('@ai-sdk/openai')
if (moment === 'naming') killWhenNaming()
console.log('ready')
try {
  console.log(JSON.stringify({ ...(await live(opened.crew, name, run)), appends }))
} catch (error) {
  if (!RepriseError.isInstance(error)) throw error
  console.log(JSON.stringify({ code: error.code, appends }))
}

function killing(inner: Store): Store {
  const counted =
    <A extends unknown[], R>(write: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      appends += 1
      if (moment === 'before' && Number(number) === appends) process.kill(process.pid, 'SIGKILL')
      const written = await write(...args)
      if (moment === 'after' && Number(number) === appends) process.kill(process.pid, 'SIGKILL')
      return written
    }
  return { ...inner, create: counted(inner.create.bind(inner)), append: counted(inner.append.bind(inner)) }
}

function killWhenNaming(): void {
  const { rename } = files
  files.rename = (...paths) => {
    renames += 1
    if (Number(number) === renames) process.kill(process.pid, 'SIGKILL')
    return rename(...paths)
  }
  syncBuiltinESMExports()
}
