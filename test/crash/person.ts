// A person in another process: answers one question of a run, or cancels the run. Prints the outcome.
import { RepriseError, type Answer } from 'reprise'
import { openCrew } from './life.ts'

const [url = '', run = '', name = '', what = '', answer = ''] = process.argv.slice(2)
await using opened = await openCrew(name, run, url)
const { crew } = opened
try {
  if (what === 'cancel') await crew.run(run).cancel({ by: 'ada' })
  else await crew.run(run).answer(what, JSON.parse(answer) as Answer)
  console.log('done')
} catch (error) {
  if (!RepriseError.isInstance(error)) throw error
  console.log(`${error.code}: ${error.message}`)
}
