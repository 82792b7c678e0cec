// An inbox: every few minutes, new mail is fetched, an agent sorts it and answers what it can, and a person decides about
// complaints. No process has to run during the pauses. No mail is answered twice.
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { Agent, Flow, type OnQuestion, type Settlement, type ToolContext } from 'reprise'
import { z } from 'zod'

const clerk = new Agent({ role: 'Clerk', goal: 'Answer customers of a bakery, politely and in one sentence' })
const sorted = z.object({ kind: z.enum(['question', 'complaint', 'advertising']) })

interface Mail {
  readonly id: number
  readonly from: string
  readonly text: string
}
const inbox: readonly Mail[] = [
  { id: 1, from: 'ada@example.com', text: 'When do you open on Sunday?' },
  { id: 2, from: 'shop@example.net', text: 'Buy followers, cheap!' },
  { id: 3, from: 'bob@example.com', text: 'The cake was burnt. I want my money back.' },
]
const fetchMail = ({ after }: { after: number }) => inbox.filter(({ id }) => id > after).slice(0, 2)

const replies = '.reprise/replies.txt'
async function reply({ to, text }: { to: string; text: string }, { idempotencyKey }: ToolContext) {
  await mkdir('.reprise', { recursive: true })
  await appendFile(replies, `${idempotencyKey} ${to}: ${text}\n`)
}
async function wasSent(idempotencyKey: string): Promise<Settlement> {
  const lines = await readFile(replies, 'utf8').catch(() => '')
  return lines.includes(idempotencyKey) ? { happened: true, result: null } : { happened: false }
}

export const responder = new Flow({
  name: 'email-responder',
  inputs: z.object({ rounds: z.number(), pauseSeconds: z.number().default(180) }),
  async run(flow) {
    const { rounds, pauseSeconds } = flow.inputs
    let last = 0
    let answered = 0
    for (let round = 1; round <= rounds; round++) {
      if (round > 1) await flow.sleep('pause', { seconds: pauseSeconds }, { key: round })
      const mails = await flow.step('fetch', { key: round, input: { after: last }, effect: 'read' }, fetchMail)

      for (const { id, from, text } of mails) {
        const { output } = await flow.run(clerk, `What is this mail? ${text}`, {
          name: 'sort',
          key: id,
          output: sorted,
        })
        if (output.kind === 'advertising') continue
        const draft = await flow.run(clerk, `Answer this mail: ${text}`, { name: 'draft', key: id })
        const question = { text: `Send this to ${from}, who complains? An empty text sends nothing.`, about: draft.raw }
        const answer =
          output.kind === 'question' ? draft.raw : await flow.ask('check', question, z.string(), { key: id })
        if (answer === '') continue
        await flow.step('reply', { key: id, input: { to: from, text: answer }, settle: wasSent }, reply)
        answered++
      }
      last = mails.at(-1)?.id ?? last
    }
    return `${answered} mails answered in ${rounds} rounds`
  },
})
export const inputs = { rounds: 2, pauseSeconds: 0.2 }
export const onQuestion: OnQuestion = ({ text }) => {
  console.log(text)
  return { decision: 'answer', value: 'We are sorry, and send your money back today.' }
}

if (import.meta.main) {
  const result = await responder.kickoff({ id: 'inbox-1', inputs, onQuestion })
  console.log(String(result))
}

// Output:
// Send this to bob@example.com, who complains? An empty text sends nothing.
// 2 mails answered in 2 rounds
