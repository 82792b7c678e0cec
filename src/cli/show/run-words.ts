// The colours of the words for how a run or task stands.
import type { Format } from '../terminal/terminal.ts'

export function formatOf(word: string): Format | undefined {
  switch (word) {
    case 'completed':
    case 'executed':
      return 'green'
    case 'failed':
    case 'cancelled':
      return 'red'
    case 'waiting':
    case 'stopped':
    case 'suspended':
    case 'abandoned':
    case 'started':
      return 'yellow'
    case 'running':
      return 'cyan'
    default:
      return undefined
  }
}
