// A process that ends process groups when its parent is gone, for whatever reason, SIGKILL included. The parent reports
// groups that it starts and ends.
import { endGroup } from './test-group.ts'

const groups = new Set<number>()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
process.on('message', ({ type, pid }: { type: 'started' | 'ended'; pid: number }) => {
  if (type === 'started') groups.add(pid)
  else groups.delete(pid)
})
process.once('disconnect', () => {
  for (const pid of groups) endGroup(pid)
})
