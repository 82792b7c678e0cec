// One life of a run in a process of its own: kicks it off or takes it up, and is killed, if told so, right before or right after
// one of its appends. Prints `ready`, then what came of it.
import { openStore } from '../../src/stores/open-store.ts'
import type { Store } from '../../src/stores/store.ts'
import { crew } from './crew.ts'

const [url = '', run = '', killAt = ''] = process.argv.slice(2)
const [moment, number] = killAt.split(':')
let appends = 0

const store = await openStore(url)
const result = crew.with({ store: killing(store) })
// loaded before, so that the time of a run is spent on the run
await import('ai')
console.log('ready')
const ended = await result.kickoff({ id: run, inputs: { notes: `run:${run};` } })
const outputs = ended.tasks.map((task) => task.output)
console.log(JSON.stringify({ status: ended.status, outputs, appends, questions: ended.questions.map(({ id }) => id) }))

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
