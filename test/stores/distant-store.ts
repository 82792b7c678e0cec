// A store that another process has open: every call is made there, and its result is returned. One process serves all
// tests of this process.
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { RepriseError, type ErrorCode } from 'reprise'
import type { Line, Store } from 'reprise/stores'

type CallName = Exclude<keyof Store, 'url' | 'caution' | 'read' | 'watch'>

/** What the other process is asked; `now` is the time by the clock of the test. */
export type Asked = { readonly id: number; readonly store: number; readonly now: number } & (
  | { readonly what: 'open'; readonly url: string }
  | { readonly what: 'call'; readonly name: CallName; readonly args: readonly unknown[] }
  /** Its items are asked for one by one, under the id of this. */
  | { readonly what: 'iterate'; readonly name: 'read' | 'watch'; readonly args: readonly unknown[] }
  | { readonly what: 'next' | 'end'; readonly iteration: number }
)

export interface Answered {
  readonly id: number
  readonly value?: unknown
  readonly error?: { readonly code?: ErrorCode; readonly message: string; readonly until?: number | undefined }
}

let child: ChildProcess | undefined
let asked = 0
let stores = 0
/** How many questions are open. */
let pending = 0
let beginning: Promise<unknown> = Promise.resolve()

/** Resolves once every watch sent to the other process has begun there. */
export function begunThere(): Promise<unknown> {
  return beginning
}

/** Opened there, with the clock of this process. */
export async function distantStore(url: string, now: () => number): Promise<Store> {
  const store = ++stores
  const open = await ask<string>({ what: 'open', url })
  function ask<T>(question: Partial<Asked>, id = ++asked): Promise<T> {
    return answerTo<T>({ ...question, id, store, now: now() } as Asked)
  }
  const call =
    <Name extends CallName>(name: Name) =>
    (...args: Parameters<Store[Name]>) =>
      ask<never>({ what: 'call', name, args })

  /** They begin to be made there at once, not when the first is asked for. */
  function items<T>(name: 'read' | 'watch', args: readonly unknown[], signal?: AbortSignal): AsyncIterable<T> {
    const iteration = ++asked
    const begun = ask({ what: 'iterate', name, args }, iteration)
    beginning = Promise.all([beginning, begun])
    const end = (): void => void ask({ what: 'end', iteration }).catch(() => {})
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()
    return (async function* () {
      await begun
      try {
        for (;;) {
          const { done, value } = await ask<IteratorResult<T>>({ what: 'next', iteration })
          if (done) return
          yield value
        }
      } finally {
        end()
      }
    })()
  }

  return {
    url: open,
    create: call('create'),
    append: call('append'),
    read: (...args) => items<Line>('read', args),
    lastNoted: call('lastNoted'),
    blob: call('blob'),
    row: call('row'),
    list: call('list'),
    findOutput: call('findOutput'),
    acquire: call('acquire'),
    claim: call('claim'),
    ready: call('ready'),
    renew: call('renew'),
    release: call('release'),
    holder: call('holder'),
    now: call('now'),
    tries: call('tries'),
    post: call('post'),
    inbox: call('inbox'),
    watch: (run, signal, only) => items<void>('watch', [run, only], signal),
    delete: call('delete'),
    close: call('close'),
  }
}

async function answerTo<T>(question: Asked): Promise<T> {
  const process_ = otherProcess()
  process_.channel?.ref()
  pending += 1
  process_.send(question)
  try {
    const [answer] = (await once(process_, `answer ${question.id}`)) as [Answered]
    if (answer.error === undefined) return answer.value as T
    const { code, message, until } = answer.error
    throw code === undefined ? new Error(message) : new RepriseError(code, message, { until })
  } finally {
    pending -= 1
    // keeps this process alive only while calls are pending
    if (pending === 0) process_.channel?.unref()
  }
}

function otherProcess(): ChildProcess {
  if (child !== undefined) return child
  const script = new URL('distant-process.ts', import.meta.url)
  const made = fork(script, { execArgv: ['--conditions=reprise-source'], serialization: 'advanced' })
  made.unref()
  made.setMaxListeners(0)
  made.on('message', (answer: Answered) => made.emit(`answer ${answer.id}`, answer))
  child = made
  return made
}
