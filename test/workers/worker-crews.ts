// Crews for workers, and functions to observe a worker.
import { Agent, Crew, Task, type CrewOptions } from 'reprise'
import type { Store } from 'reprise/stores'
import { scriptedModel } from 'reprise/testing'
import { startWorker, type WorkerEvent, type WorkerOptions } from 'reprise/workers'

export const model = scriptedModel([
  { when: 'Ask', calls: [{ tool: 'pay', input: { to: 'Ada' } }] },
  { when: 'the model is down', error: 'the provider is down' },
  { when: 'Triage', reply: (text) => `Triaged ${/Triage (\w+)/.exec(text)?.[1]}` },
])

export function claims(store: Store, options: Partial<CrewOptions> = {}) {
  const agent = new Agent({ role: 'Analyst', goal: 'Help', model })
  const tasks = ['one', 'two'].map((name) => new Task({ name, description: 'Triage {notes}' }))
  return new Crew({ name: 'claims', agents: [agent], store, ...options, tasks: options.tasks ?? tasks })
}

/** A crew of one function, which waits until the test releases it. */
export function slow(store: Store, options: Partial<CrewOptions> = {}) {
  const begun: string[] = []
  const beginning = Promise.withResolvers<void>()
  const going = Promise.withResolvers<void>()
  const tasks = ['first', 'second'].map(
    (name) =>
      new Task({
        name,
        effect: 'read',
        run: async ({ inputs, signal }) => {
          begun.push(`${inputs['notes'] as string}/${name}`)
          beginning.resolve()
          const stopped = new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
          if (name === 'first') await Promise.race([going.promise, stopped])
          return name
        },
      }),
  )
  const crew = new Crew({ name: 'slow', store, ...options, tasks })
  return { crew, begun, hasBegun: beginning.promise, go: () => going.resolve() }
}

/** Runs a worker until no run is ready. Returns its events. */
export async function workOnce(crews: readonly Crew[], options: WorkerOptions = {}): Promise<WorkerEvent[]> {
  const events: WorkerEvent[] = []
  const worker = await startWorker(crews, { once: true, onEvent: (event) => events.push(event), ...options })
  await worker.done
  return events
}

/** Resolves when there has been such an event. */
export function hearing() {
  const heard: WorkerEvent[] = []
  const waiting: { readonly fits: (event: WorkerEvent) => boolean; readonly resolve: () => void }[] = []
  return {
    heard,
    onEvent(event: WorkerEvent) {
      heard.push(event)
      for (const { fits, resolve } of waiting) if (fits(event)) resolve()
    },
    async until(fits: (event: WorkerEvent) => boolean): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>()
      waiting.push({ fits, resolve })
      if (!heard.some(fits)) await promise
    },
  }
}

export function claimed(events: readonly WorkerEvent[]): string[] {
  return events.flatMap((event) => (event.type === 'claimed' ? [event.runId] : []))
}
