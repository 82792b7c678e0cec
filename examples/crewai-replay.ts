// CrewAI's page on `Crew.replay`, translated name by name: two agents and two tasks, without `name` or `model`. Set
// OPENAI_API_KEY (and OPENAI_BASE_URL for your own server). `kickoff` stores the outputs by itself, and a task's id is
// the same in every process. So you can replay in another process, later, any number of times:
//
//   node crewai-replay.ts                      kick off, list the tasks, replay from the writing task
//   node crewai-replay.ts replay <task id>     replay in another process
import { Agent, Crew, Task } from 'reprise'

const researcher = new Agent({
  role: 'Senior Research Analyst',
  goal: 'Uncover cutting-edge developments in AI',
  backstory: 'You are an expert research analyst.',
})
const writer = new Agent({
  role: 'Content Writer',
  goal: 'Craft compelling content about AI',
  backstory: 'You are a skilled writer.',
})
export const researchTask = new Task({
  description: 'Conduct thorough research about AI.',
  expectedOutput: 'A detailed research report.',
  agent: researcher,
})
export const writingTask = new Task({
  description: 'Write a comprehensive article about AI.',
  expectedOutput: 'A well-structured article.',
  agent: writer,
})
export const crew = new Crew({
  agents: [researcher, writer],
  tasks: [researchTask, writingTask],
  process: 'sequential',
})

if (import.meta.main) {
  const [command, taskId = writingTask.id] = process.argv.slice(2)

  if (command !== 'replay') {
    // First, run the full crew to generate stored outputs
    const result = await crew.kickoff()
    console.log(String(result))

    for (const task of crew.tasks) console.log(`Task: ${task.description}, ID: ${task.id}`)
  }

  // Later, replay from the writing task using its id: the research task is not run again, its stored output is used
  const replayResult = await crew.replay(taskId)
  console.log(String(replayResult))
  for (const task of replayResult.tasks) console.log(`${task.status}: ${task.description}`)
}

// Output:
// Why your agent should keep a journal: nothing that is done is ever lost.
// Task: Conduct thorough research about AI., ID: 7794f4c1-1f18-8ffb-8c03-32796bf60db3
// Task: Write a comprehensive article about AI., ID: 5b6309c2-fe41-8fe5-9131-7c577e109c9a
// Why your agent should keep a journal: nothing that is done is ever lost.
// inherited: Conduct thorough research about AI.
// executed: Write a comprehensive article about AI.
