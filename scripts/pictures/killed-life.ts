// The first life of the run in the README: a process that kills itself with SIGKILL during the fourth model call.
import { answer, claimInputs } from '../../test/studio/sample-store.ts'
import { claimsCrew } from '../../test/studio/sample-crews.ts'
import { pauses } from './pauses.ts'

const [store = '', id = ''] = process.argv.slice(2)
const next = pauses()
let calls = 0
const pauseMs = (): number => {
  calls++
  const pause = next()
  if (calls === 4) setTimeout(() => process.kill(process.pid, 'SIGKILL'), pause * 0.7)
  return pause
}
await claimsCrew({ store, pauseMs }).kickoff({ id, inputs: claimInputs, onQuestion: answer })
