// The crew of CrewAI's replay page with what the page only mentions: a placeholder, a structured output, the verbose
// log.
//
//   topic-crew.ts kickoff | topic-crew.ts replay <task id> [inputs as JSON]
import { Agent, Crew, Task } from 'reprise'
import { z } from 'zod'

const researcher = new Agent({ role: 'Senior Research Analyst', goal: 'Uncover developments in {topic}' })
const writer = new Agent({ role: 'Content Writer', goal: 'Craft compelling content' })
const researchTask = new Task({
  description: 'Conduct thorough research about {topic}.',
  expectedOutput: 'A detailed research report.',
  agent: researcher,
  output: z.object({ title: z.string(), published: z.iso.date().transform((text) => new Date(text)) }),
})
const writingTask = new Task({ description: 'Write a comprehensive article about {topic}.', agent: writer })
const crew = new Crew({
  agents: [researcher, writer],
  tasks: [researchTask, writingTask],
  process: 'sequential',
  verbose: true,
})

const [command, taskId = '', inputs = '{}'] = process.argv.slice(2)
const result =
  command === 'kickoff'
    ? await crew.kickoff({ inputs: { topic: 'AI' } })
    : await crew.replay(taskId, { inputs: JSON.parse(inputs) as { topic?: string } })
const research = result.task(researchTask)
console.log(
  JSON.stringify({
    text: String(result),
    runId: result.runId,
    ids: crew.tasks.map((task) => task.id),
    status: result.tasks.map((task) => task.status),
    year: research.output?.published.getUTCFullYear(),
    isDate: research.output?.published instanceof Date,
    stale: result.stale,
  }),
)
