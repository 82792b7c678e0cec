// A studio in a process of its own, to be killed in the middle of a backtest: its model answers as often as it is told,
// and then not until the parent says so.
import { once } from 'node:events'
import { serveStudio } from 'reprise/studio'
import { topicsCrew } from './topics-crew.ts'

const [store = '', page = '', answers = '0'] = process.argv.slice(2)
let asked = 0
const crew = topicsCrew(store, 'warm', async () => {
  process.send?.({ asked: ++asked })
  if (asked > Number(answers)) await once(process, 'message')
})
const { url } = await serveStudio({ crews: [crew], port: 0, page })
process.send?.({ url })
