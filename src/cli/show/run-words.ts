// The words for how a run or task stands, and their colours.
import type { RunStatus } from '../../journal/entries.ts'
import type { Format } from '../terminal/terminal.ts'

export function runWord({ status, abandoned }: { readonly status: RunStatus; readonly abandoned: boolean }): string {
  return abandoned ? 'abandoned' : status
}

export function formatOf(word: string): Format | undefined {
  switch (word) {
    case 'completed':
    case 'executed':
      return 'green'
    case 'failed':
    case 'cancelled':
      return 'red'
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
