// A process that starts or resumes runs. A run with a `kill` stops right before or right after one of its recorded
// entries, and the process is killed once the last of them has stopped. A single run can also be killed while an output
// file has only its temporary name. Prints `ready`, then a line for each run that ended undisturbed.
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { RepriseError } from 'reprise'
import { openStore } from '../../src/stores/open-store.ts'
import { currentOwner } from '../../src/stores/owner.ts'
import { live, openCrew } from './life.ts'
import { dieAt } from './mortal.ts'

/** A run, and the entry at which this life of it ends. */
export interface PlannedLife {
  readonly url: string
  readonly run: string
  readonly crew: string
  readonly killAt: string
}

const plans = JSON.parse(process.argv[2] ?? '[]') as PlannedLife[]
const ready = Promise.withResolvers<void>()
let opened = 0
let over = 0
let killed = false

// loaded first, so that the measured time is that of the run
await import('ai')
await import('@ai-sdk/openai')
const [moment, number] = plans[0]?.killAt.split(':') ?? []
if (moment === 'naming') killWhenNaming(Number(number))
await Promise.all(plans.map(serve))

async function serve({ url, run, crew, killAt }: PlannedLife): Promise<void> {
  const happens = (): void => {
    killed = true
    lifeIsOver()
  }
  const { lived, recorded } = await dieAt(
    await openStore(url),
    { at: killAt, happens, owner: currentOwner() },
    async (store) => {
      const own = await openCrew(crew, run, store)
      await everyoneIsReady()
      try {
        return await live(own.crew, crew, run)
      } catch (error) {
        if (!RepriseError.isInstance(error)) throw error
        return { code: error.code }
      } finally {
        await own[Symbol.asyncDispose]()
      }
    },
  )
  if (!lived) return
  console.log(JSON.stringify({ run, recorded, ...lived }))
  lifeIsOver()
}

async function everyoneIsReady(): Promise<void> {
  opened += 1
  if (opened === plans.length) {
    console.log('ready')
    ready.resolve()
  }
  await ready.promise
}

function lifeIsOver(): void {
  over += 1
  if (over === plans.length && killed) process.kill(process.pid, 'SIGKILL')
}

function killWhenNaming(which: number): void {
  const { rename } = files
  let renames = 0
  files.rename = (...paths) => {
    renames += 1
    if (which === renames) process.kill(process.pid, 'SIGKILL')
    return rename(...paths)
  }
  syncBuiltinESMExports()
}
