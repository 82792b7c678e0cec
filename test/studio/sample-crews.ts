// Crews that show everything the studio has to show: tools that ask, reviews, limits, parallel tasks, crews within
// crews, retries. Their models answer from scripts, as slowly as asked, so that a timeline has something to show.
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent, Crew, Task, tool } from 'reprise'
import type { Store } from 'reprise/stores'
import { scriptedModel, type ScriptEntry, type ScriptedModel } from 'reprise/testing'
import { z } from 'zod'

/** Of models that have none: pages that show money have some to show. */
const price = { input: 1.25, output: 10 }
const prices = { 'gpt-5-mini': price, script: price }

/** The same model, with a pause before it answers and between the words that it says. */
export function slowly(model: ScriptedModel, pauseMs: () => number): ScriptedModel {
  return {
    ...model,
    async doGenerate(request) {
      await sleep(pauseMs())
      return model.doGenerate(request)
    },
    async doStream(request) {
      await sleep(pauseMs())
      const { stream } = await model.doStream(request)
      const step = pauseMs() / 6
      const words = new TransformStream({
        async transform(part: { type: string; delta?: string }, controller) {
          if (part.type !== 'text-delta' || part.delta === undefined) return controller.enqueue(part)
          for (const delta of part.delta.match(/\S+\s*|\s+/g) ?? []) {
            await sleep(step)
            controller.enqueue({ ...part, delta })
          }
        },
      })
      return { stream: stream.pipeThrough(words as never) }
    },
  }
}

const lookup = tool({
  name: 'lookup_policy',
  description: 'Look a policy up by its number',
  effect: 'read',
  input: z.object({ number: z.string() }),
  run: async ({ number }) => {
    await sleep(40)
    return { number, holder: 'Ada Marsh', since: '2020-01-01', cover: ['water', 'fire', 'storm'], excess: 250 }
  },
})

const refund = tool({
  name: 'pay_out',
  description: 'Pay an amount to the account of a policy holder',
  effect: 'once',
  approval: true,
  input: z.object({ policy: z.string(), amount: z.number(), currency: z.enum(['EUR', 'GBP']), reference: z.string() }),
  run: async ({ amount }) => {
    await sleep(60)
    return { paid: amount, transaction: 'T-90211' }
  },
})

const notify = tool({
  name: 'send_letter',
  description: 'Have a letter printed and posted',
  effect: 'once',
  maxSeconds: 0.05,
  input: z.object({ to: z.string(), subject: z.string() }),
  run: () => new Promise(() => {}),
})

const analyst = new Agent({
  role: 'Claims analyst',
  goal: 'Collect the facts of a claim',
  backstory: 'You have read ten thousand claims and quote the policy before you judge.',
  tools: [lookup],
})
const adjuster = new Agent({ role: 'Adjuster', goal: 'Decide what is paid', tools: [refund] })
const clerk = new Agent({ role: 'Clerk', goal: 'Write to the holder', tools: [notify] })

const facts = new Task({
  name: 'facts',
  description: 'Extract the facts from: {notes}',
  agent: analyst,
  output: z.object({
    policy: z.string(),
    lossDate: z.string(),
    issue: z.string(),
    covered: z.boolean(),
    damages: z.array(z.object({ item: z.string(), amount: z.number() })),
  }),
})
const assessment = new Task({
  name: 'assessment',
  description: 'Assess what is to be paid, with the reasons, and pay it out',
  expectedOutput: 'a short assessment',
  agent: adjuster,
})
const letter = new Task({
  name: 'letter',
  description: 'Write the letter to the holder, in the tone that {tone} asks for',
  expectedOutput: 'a letter of at most 200 words',
  agent: analyst,
  humanInput: true,
})
const post = new Task({ name: 'post', description: 'Post the letter', expectedOutput: 'a confirmation', agent: clerk })

export const factsValue = {
  policy: 'P-77',
  lossDate: '2026-05-03',
  issue: 'water in the cellar',
  covered: true,
  damages: [
    { item: 'boiler', amount: 1200 },
    { item: 'shelves', amount: 340 },
  ],
}
const assessmentText = `## Assessment

The policy **P-77** covers water damage since 2020. Of the claimed €1,540 the excess of €250 is deducted.

| item | claimed | paid |
| --- | --- | --- |
| boiler | €1,200 | €1,200 |
| shelves | €340 | €90 |

Paid out: **€1,290** (transaction \`T-90211\`).`
const letterText = `Dear Ada Marsh,

thank you for your claim of 3 May. We have looked at the damage in your cellar and are glad to tell you that your policy covers it.

- The boiler is replaced in full.
- For the shelves, we deduct the excess of €250.

The amount of **€1,290** is on its way to your account.

Kind regards`

export const claimsScript: readonly ScriptEntry[] = [
  { when: /Extract the facts/, calls: [{ tool: 'lookup_policy', input: { number: 'P-77' } }] },
  { when: /Extract the facts from: .*unreadable/, error: 'the provider has no answer to that' },
  { when: /Extract the facts/, reply: factsValue, usage: { input: 1840, output: 212 } },
  {
    when: /Assess what is to be paid/,
    calls: [{ tool: 'pay_out', input: { policy: 'P-77', amount: 1290, currency: 'EUR', reference: 'claim of 3 May' } }],
    usage: { input: 2210, output: 96 },
  },
  { when: /Assess what is to be paid/, reply: assessmentText, usage: { input: 2390, output: 301 } },
  { when: /Write the letter/, reply: letterText, usage: { input: 2871, output: 410 } },
  {
    when: /Post the letter/,
    calls: [{ tool: 'send_letter', input: { to: 'Ada Marsh, 4 Mill Lane, York', subject: 'Your claim of 3 May' } }],
  },
  { when: /Post the letter/, reply: 'Posted.' },
]

export interface SampleOptions {
  readonly store: string | Store
  /** How long its models take. */
  readonly pauseMs?: () => number
}

export function claimsCrew({ store, pauseMs = () => 0 }: SampleOptions): Crew {
  const model = slowly(scriptedModel(claimsScript, { name: 'gpt-5-mini' }), pauseMs)
  return new Crew({ name: 'claims', tasks: [facts, assessment, letter, post], store, prices }).with({ model })
}

/** Its tasks run at the same time where they can. */
export function checksCrew({ store, pauseMs = () => 0 }: SampleOptions): Crew {
  const checker = new Agent({ role: 'Checker', goal: 'Check a company' })
  const task = (name: string, description: string, context: Task[]): Task =>
    new Task({ name, description, expectedOutput: 'a paragraph', agent: checker, context })
  const registry = task('registry', 'Read the registry entry of {company}', [])
  const sanctions = task('sanctions', 'Look {company} up in the lists of sanctions', [])
  const press = task('press', 'Read what the press says about {company}', [])
  const owners = task('owners', 'Name the owners', [registry])
  const report = task('report', 'Write the report', [registry, sanctions, press, owners])
  const model = slowly(
    scriptedModel([
      {
        when: /registry entry/,
        reply: 'Registered in York since 2004, number **03991**.',
        usage: { input: 610, output: 40 },
      },
      { when: /lists of sanctions/, reply: 'Not on any list.', usage: { input: 590, output: 12 } },
      {
        when: /what the press says/,
        reply: 'Three articles, none of them adverse.',
        usage: { input: 3310, output: 92 },
      },
      {
        when: /Name the owners/,
        reply: '1. Ida Holm (60%)\n2. North Mill Ltd (40%)',
        usage: { input: 720, output: 38 },
      },
      {
        when: /Write the report/,
        reply: '# Report\n\nNo concerns. See https://example.org/registry for the entry.',
        usage: { input: 1411, output: 240 },
      },
    ]),
    pauseMs,
  )
  return new Crew({
    name: 'company-checks',
    process: 'parallel',
    tasks: [registry, sanctions, press, owners, report],
    store,
    prices,
  }).with({ model })
}

/** One of its tasks is a crew. */
export function briefingCrew({ store, pauseMs = () => 0 }: SampleOptions): Crew {
  const writer = new Agent({ role: 'Writer', goal: 'Write briefings' })
  const inner = new Crew({
    name: 'research',
    tasks: [
      new Task({ name: 'sources', description: 'Find sources about {topic}', expectedOutput: 'a list', agent: writer }),
      new Task({
        name: 'digest',
        description: 'Digest the sources',
        expectedOutput: 'a digest',
        agent: writer,
        humanInput: true,
      }),
    ],
  })
  const research = new Task({ name: 'research', crew: inner })
  const briefing = new Task({
    name: 'briefing',
    description: 'Write the briefing on {topic}',
    expectedOutput: 'a page',
    agent: writer,
  })
  const model = slowly(
    scriptedModel([
      { when: /Find sources/, reply: '- the annual report\n- two interviews' },
      {
        when: /Digest the sources/,
        reply: 'The **annual report** and the interviews agree: tides rise by 4 mm a year.',
      },
      { when: /Write the briefing/, reply: '# Briefing\n\nTides rise.' },
    ]),
    pauseMs,
  )
  return new Crew({ name: 'briefings', tasks: [research, briefing], store, prices }).with({ model })
}

/** It uses up its budget before its second task. */
export function tightCrew({ store }: SampleOptions): Crew {
  const writer = new Agent({ role: 'Summariser', goal: 'Summarise' })
  const tasks = ['first', 'second'].map(
    (name) =>
      new Task({ name, description: `Summarise the ${name} half of {text}`, expectedOutput: 'a line', agent: writer }),
  )
  const model = scriptedModel([{ when: /Summarise/, reply: 'Short.', usage: { input: 900, output: 200 } }])
  return new Crew({ name: 'summaries', tasks, store, budget: { tokens: 1_000 } }).with({ model })
}

/** As many steps as tasks times twice the calls of each. */
export function longCrew({ store }: SampleOptions, tasks: number, calls: number): Crew {
  const read = tool({
    name: 'read_page',
    description: 'Read a page',
    effect: 'read',
    input: z.object({ page: z.number() }),
    run: ({ page }) => `page ${page}`,
  })
  const reader = new Agent({ role: 'Reader', goal: 'Read', tools: [read], maxIterations: calls + 5 })
  const all = Array.from(
    { length: tasks },
    (_, index) =>
      new Task({
        name: `volume-${index + 1}`,
        description: `Read volume ${index + 1}`,
        expectedOutput: 'a word',
        agent: reader,
        context: [],
      }),
  )
  const script: ScriptEntry[] = Array.from({ length: calls }, (_, page) => ({
    when: /Read volume/,
    after: page,
    calls: [{ tool: 'read_page', input: { page: page + 1 } }],
  }))
  const model = scriptedModel([...script, { when: /Read volume/, reply: 'Read.' }])
  return new Crew({ name: 'library', tasks: all, store }).with({ model })
}
