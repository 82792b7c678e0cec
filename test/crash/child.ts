// One life of a run in a process of its own: kicks it off or takes it up, and is killed, if told so, right before or right after
// one of its appends, or when an output file is written and has not got its name. Prints `ready`, then what came of it.
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { RepriseError } from 'reprise'
import { openStore } from '../../src/stores/open-store.ts'
import { killingAt } from './killing.ts'
import { live, openCrew } from './life.ts'

const [url = '', run = '', name = '', killAt = ''] = process.argv.slice(2)
const [moment, number] = killAt.split(':')
const kill = (): void => void process.kill(process.pid, 'SIGKILL')
const { store, appends } = killingAt(await openStore(url), killAt, kill)

await using opened = await openCrew(name, run, store)
// loaded before, so that the time of a run is spent on the run
await import('ai')
await import('@ai-sdk/openai')
if (moment === 'naming') killWhenNaming()
console.log('ready')
try {
  console.log(JSON.stringify({ ...(await live(opened.crew, name, run)), appends: appends() }))
} catch (error) {
  if (!RepriseError.isInstance(error)) throw error
  console.log(JSON.stringify({ code: error.code, appends: appends() }))
}

function killWhenNaming(): void {
  const { rename } = files
  let renames = 0
  files.rename = (...paths) => {
    renames += 1
    if (Number(number) === renames) kill()
    return rename(...paths)
  }
  syncBuiltinESMExports()
}
