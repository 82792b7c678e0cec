// What is held in memory when everything that is not used any more has been thrown away.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

export function heapInUse(): number {
  collect()
  collect()
  return process.memoryUsage().heapUsed
}

export const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MB`
