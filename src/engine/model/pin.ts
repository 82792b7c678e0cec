// Pins an attempt to its request. Outputs of earlier tasks in the first message are stored as references (entry and
// digest), so that a run with many tasks does not store each output again for every later task.
import { digest } from '../../journal/hash.ts'
import { defined } from '../../base/options.ts'
import type { PinnedRequest, OutputReference } from '../../journal/entries.ts'
import type { RunState } from '../../journal/state/state.ts'
import { modelName } from '../../models/resolve/resolve-model.ts'
import { storableProvider } from '../../tools/provider-tool.ts'
import type { Tool } from '../../tools/tool.ts'
import type { AgentDefinition, TaskDefinition } from '../definition.ts'
import { runOutputs } from '../run/task-context.ts'

export function pinRequest(task: TaskDefinition, state: RunState, now: Date): PinnedRequest {
  const { message, instructions, ...rendered } = task.render(state.inputs, runOutputs(state))
  return {
    ...rendered,
    instructions: dated(instructions, task.agent, now),
    message: message.map((piece) => (typeof piece === 'string' ? piece : referTo(state, piece.output))),
    tools: toolDefinitions(task.tools),
    model: modelName(task.agent.model),
    settings: task.agent.settings,
    ...defined({ output: task.schema?.asked }),
  }
}

/** Appends the date. It comes last, because providers cache requests by their prefix. */
export function dated(instructions: string, { dateWords }: AgentDefinition, now: Date): string {
  return dateWords ? `${instructions}\n\n${dateWords(now)}` : instructions
}

/** Returns what models are sent of the tools, sorted by name: their order in the code does not matter. */
export function toolDefinitions(tools: readonly Tool[]): PinnedRequest['tools'] {
  return tools
    .map(({ name, description, schema, provider, options }) => ({
      name,
      description,
      schema: schema.json,
      ...defined({ provider: provider && storableProvider(name, provider), options }),
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}

function referTo(state: RunState, task: string): OutputReference {
  const output = state.tasks.get(task)?.seq as number
  return { output, digest: digest(state.outputs.get(output) ?? '') }
}
