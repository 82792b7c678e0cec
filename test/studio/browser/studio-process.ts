// A studio in a process of its own, to be killed: it executes what the page starts. Its model says each text up to the
// middle and waits there until the parent sends a message. It tells the parent where it is served, and every call of
// its model.
import { once } from 'node:events'
import { serveStudio } from 'reprise/studio'
import { speakingCrew, speakingModel } from '../../crew/runs/speaking-model.ts'

const [store = '', port = '', page = '', begun = '0'] = process.argv.slice(2)
const texts = [
  ['Noted: the cellar ', 'is under water.'],
  ['Dear Ada, we are ', 'sorry for your loss.'],
]
const model = speakingModel((call) => {
  process.send?.({ call })
  const [first = '', second = ''] = texts[Number(begun) + call - 1] ?? []
  return [first, once(process, 'message'), second]
})
const crew = speakingCrew(model, { tasks: ['note', 'letter'], store })
const { url } = await serveStudio({ crews: [crew], port: Number(port), page })
process.send?.({ url })
