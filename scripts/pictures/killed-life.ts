// The first life of the run in the README: it is killed, really, while a model is asked for the fourth time.
import { answer, claimInputs } from '../../test/studio/sample-store.ts'
import { claimsCrew } from '../../test/studio/sample-crews.ts'
import { pauses } from './pauses.ts'

const [store = '', id = ''] = process.argv.slice(2)
const next = pauses()
let asked = 0
const pauseMs = (): number => {
  asked++
  const pause = next()
  if (asked === 4) setTimeout(() => process.kill(process.pid, 'SIGKILL'), pause * 0.7)
  return pause
}
await claimsCrew({ store, pauseMs }).kickoff({ id, inputs: claimInputs, onQuestion: answer })
