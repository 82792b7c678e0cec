// The same crew with a scripted model, for the tests and to try it without a key: the answers are the same for every
// claim. The script chooses an answer by the text of the conversation, so it can also resume a run that was stopped.
import { scriptedModel } from 'reprise/testing'
import { crew as real } from './crew.ts'

export const model = scriptedModel([
  { when: 'extract the facts', calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }] },
  { when: 'extract the facts', reply: { policy: 'P-77', issue: 'water in the cellar', covered: true } },
  { when: 'File the claim', calls: [{ tool: 'file_claim', input: { policy: 'P-77', issue: 'water in the cellar' } }] },
  { when: 'File the claim', reply: noteFor },
])

export const crew = real.with({ model })

function noteFor(conversation: string): string {
  const [, reader = 'you'] = /write a note on it for (.+)/.exec(conversation) ?? []
  const [claim = 'the claim, which was not filed'] = /CL-\d+/.exec(conversation) ?? []
  return `For ${reader}: ${claim}, water in the cellar, is covered by P-77. (From the script in offline.ts: no model was asked.)`
}
