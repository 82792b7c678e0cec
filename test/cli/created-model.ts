// A model server for the crew of a created project: it looks the policy up, files the claim, and names the reader of
// its note.
import { openModel, type Model } from '../examples/support.ts'

const noteFor = (reader: string): string => `File the claim, then write a note on it for ${reader}`

export function openCreatedModel(): Promise<Model> {
  return openModel([
    {
      match: { userMessage: 'extract the facts', turnIndex: 0 },
      response: { toolCalls: [{ name: 'lookup_policy', arguments: { number: 'P-77' } }] },
    },
    {
      match: { userMessage: 'extract the facts', turnIndex: 1 },
      response: { content: { policy: 'P-77', issue: 'water', covered: true } },
    },
    {
      match: { userMessage: 'File the claim', turnIndex: 0 },
      response: { toolCalls: [{ name: 'file_claim', arguments: { policy: 'P-77', issue: 'water' } }] },
    },
    { match: { userMessage: noteFor('the claims team'), turnIndex: 1 }, response: { content: 'Filed, team.' } },
    { match: { userMessage: noteFor('the customer'), turnIndex: 1 }, response: { content: 'Filed, dear customer.' } },
  ])
}
