// Many runs in one process: a thousand at once, and ten thousand in all, first one after another, then a thousand at a
// time.
import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { watchStore } from './blocked.ts'
import { benchCrew, type Gate } from './crew.ts'
import { watchDisk } from './disk.ts'
import { heapInUse, megabytes } from './memory.ts'
import type { Figure } from './report.ts'

const live = 1_000
const total = 10_000
const looks = [1_000, 5_000, total]

/** A thousand runs that wait for their model at once. */
export async function benchLive(folder: string): Promise<Figure[]> {
  const { promise: open, resolve } = Promise.withResolvers<void>()
  const gate: Gate = { waiting: 0, open }
  const crew = benchCrew(`sqlite:${join(folder, 'live.db')}`, gate)
  // the first run loads what all runs share
  await benchCrew(`sqlite:${join(folder, 'first.db')}`).kickoff()
  const before = heapInUse()
  const resident = process.memoryUsage.rss()
  const runs = await Promise.all(Array.from({ length: live }, () => crew.kickoff().started))
  while (gate.waiting < live) await nextTurn()
  const heap = (heapInUse() - before) / live / 1024
  const rss = (process.memoryUsage.rss() - resident) / live / 1024
  resolve()
  const results = await Promise.all(runs.map((run) => run.result()))
  if (results.some((result) => result.status !== 'completed')) throw new Error('a run did not complete')
  await crew.close()
  const note = `${live.toLocaleString('en')} runs, each waiting for its model; resident ${rss.toFixed(0)} KB a run`
  return [{ name: 'heap of a live run', value: heap, unit: 'KB', note }]
}

export async function benchMany(folder: string): Promise<Figure[]> {
  return [...(await measure(folder, 'one after another', 1)), ...(await measure(folder, '1,000 at a time', live))]
}

async function measure(folder: string, how: string, atOnce: number): Promise<Figure[]> {
  await nextTurn()
  const before = process.getActiveResourcesInfo().length
  const crew = benchCrew(`sqlite:${join(folder, `many-${atOnce}.db`)}`)
  using loop = monitored()
  using store = watchStore()
  await using disk = watchDisk(folder)
  const heaps: number[] = []
  const start = performance.now()
  for (let done = 0; done < total;) {
    await Promise.all(Array.from({ length: atOnce }, () => crew.kickoff()))
    done += atOnce
    if (looks.includes(done)) heaps.push(heapInUse())
  }
  const seconds = (performance.now() - start) / 1000
  await crew.close()
  await nextTurn()
  await disk[Symbol.asyncDispose]()
  const left = process.getActiveResourcesInfo().length - before
  const name = `${total.toLocaleString('en')} runs, ${how}`
  const growth = (heaps.at(-1) ?? Number.NaN) / (heaps[0] ?? Number.NaN)
  const at = looks.map((look) => look.toLocaleString('en')).join(', ')
  return [
    {
      name: `${name}: heap at the end / at 1,000`,
      value: growth,
      note: `${heaps.map(megabytes).join(', ')} at ${at}`,
    },
    {
      name: `${name}: handles left`,
      value: left,
      unit: 'handles',
      note: `${(total / seconds).toFixed(0)} runs a second`,
    },
    {
      name: `${name}: longest block by the store`,
      value: store.longest,
      unit: 'ms',
      note: `${store.commit.toFixed(1)} ms of it in the commit; the disk's own longest sync: ${disk.longest().toFixed(1)} ms; by anything: ${loop.longest().toFixed(0)} ms`,
    },
  ]
}

function monitored(): { longest(): number } & Disposable {
  const histogram = monitorEventLoopDelay({ resolution: 5 })
  histogram.enable()
  return { longest: () => histogram.max / 1e6, [Symbol.dispose]: () => void histogram.disable() }
}
