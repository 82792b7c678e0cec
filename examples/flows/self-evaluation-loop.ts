// A loop: a writer drafts a post, a critic judges it, and the critic's complaint goes into the next draft. After three
// rounds, a person decides. The post is published once.
import { appendFile, mkdir, readFile } from 'node:fs/promises'
import { Agent, Flow, tool, type OnQuestion } from 'reprise'
import { z } from 'zod'

const writer = new Agent({ role: 'Copywriter', goal: 'Write posts that people want to read to the end' })
const critic = new Agent({ role: 'Critic', goal: 'Let nothing pass that is dull, vague or shouted' })
const verdict = z.object({ good: z.boolean(), why: z.string() })

const posts = '.reprise/posts.txt'
const publish = tool({
  name: 'publish',
  description: 'Publish a post',
  input: z.object({ post: z.string() }),
  async run({ post }, { idempotencyKey }) {
    await mkdir('.reprise', { recursive: true })
    await appendFile(posts, `${idempotencyKey} ${post}\n`)
    return `published: ${post}`
  },
  // called if the process was killed during `run`: was the post published?
  async settle(idempotencyKey, { post }) {
    const published = await readFile(posts, 'utf8').catch(() => '')
    return published.includes(idempotencyKey) ? { happened: true, result: `published: ${post}` } : { happened: false }
  },
})

export const post = new Flow({
  name: 'self-evaluation-loop',
  inputs: z.object({ topic: z.string(), rounds: z.number().default(3) }),
  async run(flow) {
    const { topic, rounds } = flow.inputs
    let complaint = ''
    for (let round = 1; round <= rounds; round++) {
      const advice = complaint === '' ? '' : ` Your last draft was refused: ${complaint}`
      const draft = await flow.run(writer, `Draft ${round} of a post on ${topic}.${advice}`, {
        name: 'draft',
        key: round,
      })
      const { good, why } =
        draft.raw.length > 140
          ? { good: false, why: `${draft.raw.length} characters are too long; 140 is the limit` }
          : (await flow.run(critic, `Judge this post: ${draft.raw}`, { name: 'judge', key: round, output: verdict }))
              .output
      if (good) return flow.run(publish, { post: draft.raw })
      complaint = why
    }
    const question = {
      text: `The critic refused ${rounds} drafts on ${topic}. What shall be published?`,
      about: complaint,
    }
    const own = await flow.ask('last-word', question, z.string(), { timeout: { days: 2 } })
    return own === undefined ? 'nothing was published' : flow.run(publish, { post: own })
  },
})
export const inputs = { topic: 'our new opening hours' }
export const onQuestion: OnQuestion = ({ text }) => {
  console.log(text)
  return { decision: 'answer', value: 'Open from 7, every day. Come early: the rolls are warm.' }
}

if (import.meta.main) {
  const result = await post.kickoff({ id: 'post-1', inputs, onQuestion })
  console.log(String(result))
}

// Output:
// published: From Monday, we open at seven. The rolls are warm by then.
