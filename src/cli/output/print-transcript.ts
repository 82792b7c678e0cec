// Prints the last turns of a conversation.
import type { Transcript, TranscriptTurn } from '../../runs/transcript.ts'
import { plain, shorten } from '../../text/plain-text.ts'
import { clock, plural } from '../../text/words.ts'
import type { Channel } from './terminal.ts'

/** How many turns are printed. */
export const mostTurns = 8
const mostLines = 12

export function printTranscript(channel: Channel, { id, turns, before }: Transcript): void {
  channel.line()
  channel.line({ text: 'conversation', format: 'bold' }, `  ${id}`)
  if (turns.length === 0) channel.line({ text: '  nothing has been said yet', format: 'dim' })
  if (before !== undefined) channel.line({ text: `  … ${plural(before - 1, 'earlier turn')}`, format: 'dim' })
  for (const turn of turns) {
    const { text, by, at, answer, answeredAt } = turn
    printSaid(channel, `${turn.turn ?? 'next'}  ${by ?? 'user'}  ${clock(at)}`, text)
    if (answer !== undefined) printSaid(channel, `${turn.turn}  assistant  ${clock(answeredAt ?? at)}`, answer)
    else channel.line({ text: `  ${stateWords(turn)}`, format: turn.status === 'failed' ? 'red' : 'yellow' })
  }
}

function stateWords({ status, error, questions }: TranscriptTurn): string {
  if (status === 'failed') return `failed: ${error}`
  if (status === 'waiting') return `waits for a person: ${questions.map(({ text }) => text).join('; ')}`
  return { queued: 'not begun yet', running: 'being answered', stopped: 'stopped', answered: 'answered' }[status]
}

function printSaid(channel: Channel, head: string, text: string): void {
  channel.line({ text: `  ${head}`, format: 'dim' })
  const lines = plain(text).trimEnd().split('\n')
  const width = Math.min(channel.width, 200) - 4
  for (const line of lines.slice(0, mostLines)) channel.line(`  │ ${shorten(line, width)}`)
  if (lines.length > mostLines)
    channel.line({ text: `  │ … ${plural(lines.length - mostLines, 'more line')}`, format: 'dim' })
}
