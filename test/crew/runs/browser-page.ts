// A page in a browser: runs the script of the guide on a real EventSource, in a thread of its own since Node has it
// only with a flag.
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'

const { script, id, origin } = workerData as { script: string; id: string; origin: string }
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is not a window
const tell = (heard: unknown): void => parentPort?.postMessage(heard)

/** Paths belong to the page's origin, and the test hears what comes besides what the script listens to. */
class PageSource extends EventSource {
  constructor(path: string) {
    super(new URL(path, origin))
    for (const type of ['run.created', 'run.suspended', 'run.failed', 'run.resumed', 'run.completed'])
      this.addEventListener(type, () => tell(type))
  }
}

const page = {
  EventSource: PageSource,
  id,
  show: (delta: { text: string }) => tell(delta.text),
  forget: () => tell('(reset)'),
  replace: () => tell('model.replied'),
  caughtUp: () => tell('(caught up)'),
  ended: (status: string) => tell({ ended: status }),
}
runInNewContext(script, page)
// a page stays open while it waits to come back
setInterval(() => {}, 60_000)
