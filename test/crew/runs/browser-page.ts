// A page in a browser: runs the script of the guide on a real EventSource, in its own thread, since Node needs a flag
// for it.
import { runInNewContext } from 'node:vm'
import { parentPort, workerData } from 'node:worker_threads'

const { script, id, origin } = workerData as { script: string; id: string; origin: string }
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread is not a window
const tell = (heard: unknown): void => parentPort?.postMessage(heard)

/** Resolves paths against the page's origin, and forwards to the test the events that the script ignores. */
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
