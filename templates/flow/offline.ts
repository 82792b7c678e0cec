// The same flow with a scripted model, for the tests and to try it without a key: the answers are the same for every
// claim. The script chooses an answer by the text of the conversation, so it can also resume a run that was stopped.
import { scriptedModel } from 'reprise/testing'
import { claims as real } from './flow.ts'

export const model = scriptedModel([
  { when: 'extract the facts', calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }] },
  { when: /extract the facts.*fell/, reply: { policy: 'P-77', issue: 'a fall', covered: false } },
  { when: 'extract the facts', reply: { policy: 'P-77', issue: 'water in the cellar', covered: true } },
  { when: 'Your last note', reply: noteFor },
  { when: 'Write a note', reply: 'An assessor will come.' },
])

export const claims = real.with({ model })

function noteFor(conversation: string): string {
  const [, claim = '', reader = ''] = /note on claim (\S+) \(.*\) for (.+)\./.exec(conversation) ?? []
  return `For ${reader}: an assessor will come about ${claim}. (From the script in offline.ts: no model was asked.)`
}
