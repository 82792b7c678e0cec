// A router: an agent decides what a request asks for, and each format has its own way of being written. A person decides
// when the request is unclear.
import { mkdir, writeFile } from 'node:fs/promises'
import { Agent, Crew, Flow, Task, type OnQuestion } from 'reprise'
import { z } from 'zod'

const editor = new Agent({ role: 'Editor', goal: 'Know what people want, and let nothing careless out' })
const writer = new Agent({ role: 'Writer', goal: 'Write what is asked for, and no more' })
const researcher = new Agent({ role: 'Researcher', goal: 'Find facts, each with its source' })

const formats = ['blog', 'post', 'report'] as const
const decision = z.object({ format: z.enum([...formats, 'unclear']), topic: z.string() })

const blog = new Crew({
  name: 'blog',
  tasks: [
    new Task({ name: 'draft', description: 'Write a blog article on {topic}', agent: writer }),
    new Task({
      name: 'edit',
      description: 'Edit the article on {topic}: shorter, and no empty phrases',
      agent: editor,
    }),
  ],
})
const report = new Crew({
  name: 'report',
  tasks: [
    new Task({ name: 'facts', description: 'Collect facts on {topic}', agent: researcher }),
    new Task({ name: 'write', description: 'Write a report on {topic} from the facts', agent: writer }),
  ],
})

export const creator = new Flow({
  name: 'content-creator',
  inputs: z.object({ request: z.string() }),
  async run(flow) {
    const { request } = flow.inputs
    const { output } = await flow.run(editor, `What is asked for? ${request}`, { name: 'route', output: decision })
    const { topic } = output
    const format =
      output.format === 'unclear'
        ? await flow.ask('format', { text: 'What shall this be?', about: request }, z.enum(formats))
        : output.format

    let content: string
    switch (format) {
      case 'blog':
        content = (await flow.run(blog, { topic })).raw
        break
      case 'report':
        content = (await flow.run(report, { topic })).raw
        break
      case 'post': {
        const drafts = await Promise.all(
          ['friendly', 'dry'].map((tone) =>
            flow.run(writer, `Write a ${tone} post on ${topic}`, { name: 'post', key: tone }),
          ),
        )
        const both = drafts.join('\n---\n')
        content = (await flow.run(editor, `Choose the better post:\n${both}`, { name: 'choose' })).raw
      }
    }
    await flow.step('save', { input: { format, content }, effect: 'idempotent' }, async (given) => {
      await mkdir('.reprise', { recursive: true })
      await writeFile(`.reprise/${given.format}.md`, `${given.content}\n`)
    })
    return { format, content }
  },
})
export const inputs = { request: 'Something short about rye bread for our followers?' }
export const onQuestion: OnQuestion = ({ text }) => {
  console.log(text)
  return { decision: 'answer', value: 'post' }
}

if (import.meta.main) {
  const result = await creator.kickoff({ id: 'content-1', inputs, onQuestion })
  console.log(result.output)
}

// Output:
// What shall this be?
// { format: 'post', content: 'Rye keeps for a week. So does its smell.' }
