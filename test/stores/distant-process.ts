// The process that has the distant stores open (distant-store.ts).
import { RepriseError } from 'reprise'
import type { Store } from 'reprise/stores'
import { openWithClock } from './open-with-clock.ts'
import type { Answered, Asked } from './distant-store.ts'

interface Opened {
  readonly store: Promise<Store>
  /** The clock of the last caller. */
  time: number
}

const stores = new Map<number, Opened>()
const iterations = new Map<number, { readonly items: AsyncIterator<unknown>; readonly ending: AbortController }>()

process.on('message', (asked: Asked) => void answer(asked))
process.once('disconnect', () => process.exit())

async function answer(asked: Asked): Promise<void> {
  let answered: Answered
  try {
    answered = { id: asked.id, value: await act(asked) }
  } catch (error) {
    const { message } = error as Error
    const ours = RepriseError.isInstance(error) ? { code: error.code, until: error.until } : {}
    answered = { id: asked.id, error: { message, ...ours } }
  }
  process.send?.(answered)
}

async function act(asked: Asked): Promise<unknown> {
  if (asked.what === 'open') {
    const opened: Opened = { store: openWithClock(asked.url, () => opened.time), time: asked.now }
    stores.set(asked.store, opened)
    return (await opened.store).url
  }
  const opened = stores.get(asked.store)
  if (opened === undefined) throw new Error(`no store ${asked.store}`)
  opened.time = asked.now
  const store = await opened.store
  switch (asked.what) {
    case 'call':
      return (store[asked.name] as (...args: readonly unknown[]) => Promise<unknown>)(...asked.args)
    case 'iterate':
      iterations.set(asked.id, iterate(store, asked.name, asked.args))
      return undefined
    case 'next':
      return iterations.get(asked.iteration)?.items.next() ?? { done: true }
    case 'end':
      return end(asked.iteration)
  }
}

function iterate(store: Store, name: 'read' | 'watch', args: readonly unknown[]) {
  const ending = new AbortController()
  if (name === 'read') {
    const items = store.read(...(args as Parameters<Store['read']>))[Symbol.asyncIterator]()
    return { items, ending }
  }
  const [run, only] = args as [string | undefined, 'messages' | undefined]
  return { items: store.watch(run, ending.signal, only)[Symbol.asyncIterator](), ending }
}

async function end(iteration: number): Promise<void> {
  const found = iterations.get(iteration)
  found?.ending.abort()
  iterations.delete(iteration)
  await found?.items.return?.()
}
