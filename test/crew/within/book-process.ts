// A book in a process that may be killed: kicks it off in the given store and prints the outcome.
import { Agent, Crew, Task } from 'reprise'

if (import.meta.main) {
  const agent = new Agent({ role: 'Writer', goal: 'Write', model: 'openai/gpt-test', maxRetries: 0 })
  const draft = new Task({ name: 'draft', description: 'Draft {chapter}', agent })
  const polish = new Task({ name: 'polish', description: 'Polish {chapter}', agent })
  const chapter = new Crew({ name: 'chapter', tasks: [draft, polish] })
  const chapters = new Task({
    name: 'chapters',
    effect: 'idempotent',
    run: async ({ runId }) => {
      const list = ['one', 'two', 'three', 'four'].map((name) => ({ chapter: name }))
      return (await chapter.kickoffForEach(list, { id: `${runId}-chapter` })).map(String)
    },
  })
  const url = process.argv[2] ?? ''
  await using book = new Crew({ name: 'book', tasks: [chapters], store: url })
  const result = await book.kickoff({ id: 'b' })
  process.stdout.write(
    JSON.stringify({ status: result.status, output: result.task('chapters').output, usage: result.usage }),
  )
}
