// A crew of one task whose answer follows its description, so that another description is changed code.
import { Agent, Crew, Task } from 'reprise'
import { scriptedModel } from 'reprise/testing'

export function topicsCrew(store: string, way: string, asked: () => Promise<void> = async () => {}): Crew {
  const model = scriptedModel([
    { when: 'Write', reply: (text) => `${way} words about the ${/about the (\w+)/.exec(text)?.[1]}` },
  ])
  const gated = {
    ...model,
    doGenerate: async (request: Parameters<typeof model.doGenerate>[0]) => {
      await asked()
      return model.doGenerate(request)
    },
  }
  const agent = new Agent({ role: 'Clerk', goal: 'Write', model: gated })
  const note = new Task({ name: 'note', description: `Write ${way} words about the {topic}`, agent })
  const crew: Crew = new Crew({ name: 'topics', store, tasks: [note] })
  return crew
}
