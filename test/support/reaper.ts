// Ends process groups when the channel to its parent closes, by whatever (SIGKILL too). Its parent says which groups
// there are.
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
