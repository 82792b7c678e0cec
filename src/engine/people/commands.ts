// The commands that messages end with. They are what a person types next, so ids are quoted as a shell reads them back.
import type { Question } from '../../journal/entries.ts'

export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

export function resumeCommand(run: string): string {
  return `reprise resume ${shellWord(run)}`
}

export function replayCommand(run: string, task?: string): string {
  return `reprise replay --run ${shellWord(run)} -t ${task === undefined ? '<task>' : shellWord(task)}`
}

export function refreshCommand(run: string): string {
  return `reprise refresh --run ${shellWord(run)}`
}

export function answerCommand(run: string, question: Question, decisions: readonly string[]): string {
  // a command that asks at a terminal, as it stands; with the first of the decisions in it, somebody would give that as the answer
  return `reprise answer ${shellWord(run)} ${shellWord(question.id)}, in scripts with --decision ${decisions.join(' or ')}`
}
