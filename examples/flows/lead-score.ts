// Leads: an agent scores each of them, a person approves the best two, and both get an email. If the person refuses,
// all leads are scored again with the person's wish in mind, at most three times. No email is sent twice.
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { Agent, Flow, type OnQuestion, type Settlement, type ToolContext } from 'reprise'
import { z } from 'zod'

const analyst = new Agent({ role: 'Sales analyst', goal: 'Find out which leads are worth a call' })
const seller = new Agent({ role: 'Seller', goal: 'Write short emails that get an answer' })
const score = z.object({ points: z.number(), reason: z.string() })

interface Mail {
  readonly to: string
  readonly text: string
}
const sent = '.reprise/sent.txt'

async function send({ to, text }: Mail, { idempotencyKey }: ToolContext) {
  await mkdir('.reprise', { recursive: true })
  await appendFile(sent, `${idempotencyKey} ${to}: ${text}\n`)
  return to
}
async function wasSent(idempotencyKey: string, { to }: Mail): Promise<Settlement> {
  const lines = await readFile(sent, 'utf8').catch(() => '')
  return lines.includes(idempotencyKey) ? { happened: true, result: to } : { happened: false }
}

export const leadScore = new Flow({
  name: 'lead-score',
  async run(flow) {
    const leads = await flow.step('load-leads', { effect: 'read' }, () => [
      { id: 'ada', email: 'ada@example.com', note: 'runs three bakeries, asked for a price' },
      { id: 'bob', email: 'bob@example.com', note: 'student, downloaded the brochure' },
      { id: 'cleo', email: 'cleo@example.com', note: 'buys flour for a hotel chain' },
    ])

    let wish = ''
    for (let round = 1; round <= 3; round++) {
      const scored = await Promise.all(
        leads.map(async (lead) => {
          const prompt = `Score this lead from 0 to 100: ${lead.note}.${wish && ` Consider: ${wish}`}`
          const { output } = await flow.run(analyst, prompt, {
            name: 'score',
            key: `${lead.id} ${round}`,
            output: score,
          })
          return { ...lead, ...output }
        }),
      )
      const best = scored.toSorted((a, b) => b.points - a.points).slice(0, 2)
      const question = { text: `Write to ${best.map(({ id }) => id).join(' and ')}?`, about: best }
      const answer = await flow.ask('approve', question, z.object({ ok: z.boolean(), wish: z.string().default('') }), {
        key: round,
      })
      wish = answer.wish
      if (!answer.ok) continue

      return Promise.all(
        best.map(async ({ id, email, note }) => {
          const { raw } = await flow.run(seller, `Write an email to ${id}, who ${note}`, { name: 'write', key: id })
          return flow.step('send', { key: id, input: { to: email, text: raw }, settle: wasSent }, send)
        }),
      )
    }
    return 'no email was sent'
  },
})
/** The person refuses the first choice. */
export const onQuestion: OnQuestion = ({ text, path }) => {
  console.log(text)
  const isFirst = path.startsWith('approve[1]')
  return { decision: 'answer', value: isFirst ? { ok: false, wish: 'hotels are the priority' } : { ok: true } }
}

if (import.meta.main) {
  const result = await leadScore.kickoff({ id: 'leads-1', onQuestion })
  console.log(String(result))
}

// Output:
// Write to ada and bob?
// Write to cleo and ada?
// ["cleo@example.com","ada@example.com"]
