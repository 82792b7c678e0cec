// A book: a crew outlines it, a person approves the outline, and a crew writes each chapter, three at a time. The number
// of chapters is known only at run time.
import { mkdir, writeFile } from 'node:fs/promises'
import { Agent, Crew, Flow, Task, type OnQuestion } from 'reprise'
import { z } from 'zod'

const researcher = new Agent({ role: 'Researcher', goal: 'Find out what readers of a book on {topic} need to know' })
const author = new Agent({ role: 'Author', goal: 'Write clear books for beginners' })

const outline = z.object({ chapters: z.array(z.object({ title: z.string(), covers: z.string() })) })
const outlineCrew = new Crew({
  name: 'outline',
  tasks: [
    new Task({ name: 'research', description: 'Collect the facts for a book on {topic}', agent: researcher }),
    new Task({
      name: 'chapters',
      description: 'Divide the book into chapters: {wish}',
      agent: author,
      output: outline,
    }),
  ],
})
const chapterCrew = new Crew({
  name: 'chapter',
  tasks: [
    new Task({
      name: 'facts',
      description: 'Collect the facts for chapter "{title}" of the book on {topic}: {covers}',
      agent: researcher,
    }),
    new Task({
      name: 'text',
      description: 'Write chapter "{title}". The book has these chapters: {all}',
      agent: author,
    }),
  ],
})

export const book = new Flow({
  name: 'write-a-book',
  inputs: z.object({ topic: z.string(), wish: z.string().default('as many chapters as it needs') }),
  concurrency: 3,
  async run(flow) {
    const { topic, wish } = flow.inputs
    const { chapters } = (await flow.run(outlineCrew, { topic, wish })).output

    const all = chapters.map(({ title }) => title)
    const question = { text: `Write a book of ${all.length} chapters?`, about: chapters }
    if (!(await flow.ask('approve-outline', question, z.boolean()))) return 'the outline was refused'

    const texts = await Promise.all(
      chapters.map(({ title, covers }) => flow.run(chapterCrew, { topic, title, covers, all }, { key: title })),
    )

    const text = texts.map(({ raw }, n) => `# ${all[n]}\n\n${raw}\n`).join('\n')
    return flow.step('save', { input: text, effect: 'idempotent' }, async (given) => {
      await mkdir('.reprise', { recursive: true })
      await writeFile('.reprise/book.md', given)
      return `.reprise/book.md: ${given.split('\n').length} lines`
    })
  },
})
export const inputs = { topic: 'sourdough bread' }
/** The person. In a service, the answer comes later: book.run('book-1').answer('q1', { … }). */
export const onQuestion: OnQuestion = ({ text }) => {
  console.log(text)
  return { decision: 'answer', value: true }
}

if (import.meta.main) {
  const result = await book.kickoff({ id: 'book-1', inputs, onQuestion })
  console.log(String(result))
}

// Output:
// Write a book of 3 chapters?
// .reprise/book.md: 12 lines
