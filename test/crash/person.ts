// A person in a process of their own: answers one question of a run, or cancels the run. Prints what came of it.
import { RepriseError, type Answer } from 'reprise'
import { crews } from './feature-crews.ts'

const [url = '', run = '', name = '', what = '', answer = ''] = process.argv.slice(2)
await using crew = (await crews[name]?.())?.with({ store: url })
if (!crew) throw new Error(`there is no crew ${name}`)
try {
  if (what === 'cancel') await crew.cancel(run, 'ada')
  else await crew.answer(run, what, JSON.parse(answer) as Answer)
  console.log('done')
} catch (error) {
  if (!RepriseError.isInstance(error)) throw error
  console.log(`${error.code}: ${error.message}`)
}
